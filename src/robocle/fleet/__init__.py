"""The fleet: robots that share what they are taught through a log, NATS JetStream.

A message is a row of the table of samples, or a decision on the label of rows. A state is a union
of rows, so messages may come twice and in any order, and files can still be merged by hand.

- `messages`: what is published, and what is refused.
- `membership`: what a robot knows of the log, in a file beside its state.
- `view`: what a robot shares, and what it follows.
- `exchange`: from a state to messages and back, without a network.
- `server`: where it is. `connection`: to the server. `log`: what the server keeps.
- `member`: a robot that takes part.
- `operating`: what an operator sees and does: robots, the log, pins.
"""
