"""Timing by a clock that the timed functions move themselves."""

from itertools import chain, repeat

from robocle._internal.timing import shortest_times, timed


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


def test_a_call_takes_the_time_that_the_given_clock_shows() -> None:
    clock = Clock()
    assert timed(lambda: clock.work(0.25), clock) == 0.25


def test_the_first_run_of_a_turn_is_not_timed_and_the_shortest_counts() -> None:
    clock = Clock()
    lengths = {
        "one": chain([0.001, 4.0, 2.0, 3.0], [0.001], repeat(5.0)),
        "other": repeat(7.0),
    }
    functions = [lambda each=each: clock.work(next(each)) for each in lengths.values()]
    assert shortest_times(functions, rounds=2, clock=clock) == [2.0, 7.0]
