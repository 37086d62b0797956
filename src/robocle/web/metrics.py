"""Metrics in the text format of Prometheus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The upper bounds of the buckets."""


class Histogram:
    """How long something took.

    Example:
        >>> histogram = Histogram()
        >>> histogram.add(0.015)
        >>> list(histogram.lines("robocle_x_seconds"))[2]
        'robocle_x_seconds_bucket{le="0.02"} 1'
    """

    def __init__(self) -> None:
        self._counts = [0] * (len(SECONDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(SECONDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the text format."""
        total = 0
        for bound, count in zip((*SECONDS, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """What the server counts."""

    def __init__(self) -> None:
        self.prediction_seconds = Histogram()
        """From the arrival of a frame to its answer."""
        self.overhead_seconds = Histogram()
        """The part of that which is neither waiting for a thread nor decoding nor the learner."""
        self.taught = 0
        self.dropped = 0
        """Frames that were replaced by a newer one before their turn."""
        self.responses: Counter[int] = Counter()
        """HTTP responses by status."""

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all metrics.

        Args:
            gauges: Further values, by name, each with what it is.
        """
        return "\n".join(self._lines(gauges)) + "\n"

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        yield from _head("robocle_prediction_seconds", "histogram", "Time to answer a frame.")
        yield from self.prediction_seconds.lines("robocle_prediction_seconds")
        yield from _head("robocle_overhead_seconds", "histogram", "The server's part of it.")
        yield from self.overhead_seconds.lines("robocle_overhead_seconds")
        yield from _head("robocle_taught_pictures_total", "counter", "Pictures taught.")
        yield f"robocle_taught_pictures_total {self.taught}"
        yield from _head("robocle_dropped_frames_total", "counter", "Frames replaced by newer.")
        yield f"robocle_dropped_frames_total {self.dropped}"
        yield from _head("robocle_responses_total", "counter", "HTTP responses by status.")
        for status, count in sorted(self.responses.items()):
            yield f'robocle_responses_total{{status="{status}"}} {count}'
        for name, (what, value) in gauges.items():
            yield from _head(name, "gauge", what)
            yield f"{name} {value:g}"


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
