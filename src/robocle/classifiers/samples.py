"""What was taught: samples, in the order in which they were taught.

A sample is never modified, so classifiers, their states and their copies share it. Whatever else a
classifier has is computed from its samples and can be computed again.
"""

import os
import time
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def new_id() -> str:
    """Return the id of a new sample: 32 random hexadecimal digits, globally unique."""
    return os.urandom(16).hex()


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """One taught embedding.

    Example:
        >>> sample = Sample("mug", np.array([0.5, 2]))
        >>> sample.label, len(sample.id)
        ('mug', 32)
    """

    label: str
    embedding: NDArray[Any]
    """(width,), in float32 or float64. It must not be modified."""
    id: str = field(default_factory=new_id)
    """It never changes, and copies of a sample keep it."""
    time: float = field(default_factory=time.time)
    """When it was taught, in seconds since 1970."""
    faults: str = ""
    """What was wrong with the picture, such as "dark blurred"."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


def kept_embedding(embedding: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an embedding to keep, in float32 if that is exact, and else in float64.

    >>> kept_embedding(np.array([0.5])).dtype, kept_embedding(np.array([0.1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    kept = np.array(embedding, embedding.dtype if embedding.dtype == np.float32 else np.float64)
    if kept.dtype != np.float32:
        with np.errstate(over="ignore"):
            small = kept.astype(np.float32)
        kept = small if (small == kept).all() else kept
    kept.flags.writeable = False
    return kept
