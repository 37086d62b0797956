"""The fleet: robots that share what they are taught through a log, NATS JetStream.

A message is a row of the table of samples, or a decision on the label of rows. A state is a union
of rows, so messages may come twice and in any order, and files can still be merged by hand.

- `messages`: the content of messages, and the rules that a received one must satisfy.
- `membership`: the part of the log that a robot has seen, in a file beside its state.
- `view`: the part of the log that a robot follows, and the samples that it shares.
- `folded`: the labels of samples in sums, which follow the log as well.
- `exchange`: from a state to messages and back, without a network.
- `server`: its address. `connection`: to the server. `log`: the stream that it keeps.
- `member`: a robot that takes part.
- `operating`: the commands of an operator: robots, the log, pins.
- `tree`: many files merged by hand, by the workers of a Dask cluster.
"""
