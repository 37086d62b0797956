"""The node's health: what its diagnostics say."""

import time
from dataclasses import dataclass, field
from typing import Literal

from robocle.ros.recogniser import Recogniser

Level = Literal["ok", "warn"]

SILENCE = 5.0
"""Seconds without an image after which an active node warns."""


@dataclass
class Health:
    """Counts what happened to the images since the node was configured."""

    received: int = 0
    recognised: int = 0
    refused: int = 0
    refusal: str = ""
    """Why the last image was refused."""
    _unmatched: int = 0
    _last: float = field(default_factory=time.monotonic)
    _reported: tuple[float, int, int] = field(default_factory=lambda: (time.monotonic(), 0, 0))

    def image(self) -> None:
        """Count an image."""
        self.received += 1
        self._last = time.monotonic()

    def refuse(self, error: object) -> None:
        """Count an image or a box that cannot be used."""
        self.refused += 1
        self.refusal = str(error)

    def resume(self) -> None:
        """Start to wait for images now."""
        self._last = time.monotonic()

    def report(
        self, active: bool, recogniser: Recogniser, unmatched: int = 0
    ) -> tuple[Level, str, dict[str, str]]:
        """Return the level, a message and values, over the time since the last report.

        Args:
            active: Whether images are recognised.
            recogniser: The learner and what it took.
            unmatched: How many boxes came without their image, so far.
        """
        now = time.monotonic()
        before, recognised, refused = self._reported
        self._reported = (now, self.recognised, self.refused)
        rate = (self.recognised - recognised) / max(now - before, 1e-6)
        level, message = self._judged(active, now, self.refused > refused, unmatched)
        counts = recogniser.learner.counts
        values = {
            "images received": self.received,
            "images recognised": self.recognised,
            "images or boxes refused": self.refused,
            "boxes without image": unmatched,
            "images per second": f"{rate:.1f}",
            "learner CPU seconds": f"{recogniser.learner_seconds:.3f}",
            "process CPU seconds": f"{time.process_time():.3f}",
            "labels": len(counts),
            "pictures taught": sum(counts.values()),
            "version": recogniser.version,
        }
        return level, message, {key: str(value) for key, value in values.items()}

    def _judged(self, active: bool, now: float, refused: bool, unmatched: int) -> tuple[Level, str]:
        lost, self._unmatched = unmatched - self._unmatched, unmatched
        if not active:
            return "ok", "not active"
        if refused:
            return "warn", self.refusal
        if now - self._last > SILENCE:
            return "warn", f"no image for {now - self._last:.0f} s: check the topic and its QoS"
        if lost > 0:
            return "warn", f"{lost} boxes came without their image: check the stamps"
        return "ok", "recognising"
