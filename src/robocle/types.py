"""The values that travel between the parts: examples, feature maps and predictions."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""Pictures ready for a backbone: (n, side, side, 3), RGB."""

Embeddings = NDArray[np.float32]
"""Embeddings of pictures, one per row: (n, width)."""

Scores = NDArray[np.float64]
"""How well each picture fits each label: (n, labels), higher is better."""


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled picture of a data set, and what is known of how it was taken."""

    path: Path
    label: str
    split: str = ""
    """"train" or "test" where the data set says so."""
    instance: str = ""
    """Which thing of its kind, such as "mug_01"."""
    domain: str = ""
    """Where or how it was taken: a place, a source, a condition."""
    video: str = ""
    """Which recording it is a frame of; frames of one video stand in order."""


@dataclass(frozen=True)
class FeatureMaps:
    """What a backbone sees in n pictures: a vector a position, and a class token if it has one."""

    grid: NDArray[np.float32]
    """(n, positions, channels)"""
    token: NDArray[np.float32] | None = None
    """(n, channels)"""

    def __len__(self) -> int:
        return len(self.grid)


@dataclass(frozen=True)
class Prediction:
    """What a learner says of one picture."""

    label: str | None
    """The recognised label, or None for unknown."""
    confidence: float
    """From 0 to 1: how likely the nearest label is right, most things that are met being known."""
    scores: dict[str, float]
    """The classifier's score of every taught label, in the order they were taught."""
    nearest: str
    """The label with the best score: the recognised one, or what an unknown thing is most like."""
    known: float
    """From 0 to 1: how likely it is one of the taught things, if it could as well be any other."""
