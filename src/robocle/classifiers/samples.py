"""What was taught: embeddings, samples and the state of a classifier.

A sample is never modified, so classifiers, their states and their copies share it. Whatever else a
classifier has is computed from its samples and can be computed again.

Embeddings come in here: real, finite numbers of the right shape, or an error. numpy would convert
much that is no embedding (dates, texts of digits, masked values), so the kind of the numbers is
checked before anything is converted.
"""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers.labels import UNKNOWN
from robocle.errors import FeatureError, StateError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

LARGEST = 1e36
"""The largest absolute value that a classifier takes. Its square fits into a state; see
`robocle.classifiers.samples`."""
REAL = "iuf"  # the kinds of numpy types that hold real numbers
SHAPES = {
    1: "an embedding, numbers of shape (width,)",
    2: "embeddings, numbers of shape (n, width)",
}
# Squares of values up to this size, and products of squares, are finite. Sums of the squares of
# embeddings are smaller by far.
LARGEST_STORED = 1e75


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


def embedding_numbers(
    embeddings: ArrayLike, axes: Literal[1, 2], largest: float = LARGEST
) -> NDArray[Any]:
    """Return embeddings as an array of the type that they have.

    Args:
        embeddings: One embedding, or several as rows.
        axes: 1 for one embedding, 2 for several.
        largest: The largest absolute value that is allowed.

    Raises:
        FeatureError: They are not an array of real numbers, have another number of axes or no
            width, or hold a value that is not finite or too large.

    >>> embedding_numbers([1, 2], 1)
    array([1, 2])
    >>> embedding_numbers([1j], 1)
    Traceback (most recent call last):
    robocle.errors.FeatureError: expected an embedding, numbers of shape (width,), not complex128 of shape (1,)
    """  # noqa: E501
    values = _array(embeddings, SHAPES[axes])
    if values.dtype.kind not in REAL or values.ndim != axes or values.shape[-1] == 0:
        raise FeatureError(f"expected {SHAPES[axes]}, not {_kind(values)} of shape {values.shape}")
    _require_usable(values, largest)
    return values


def _array(embeddings: ArrayLike, expected: str) -> NDArray[Any]:
    rows = embeddings if isinstance(embeddings, list | tuple) else [embeddings]
    # A masked array has imported its module. An attribute `mask` would not tell: pandas has one.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())
    if any(isinstance(row, masked) for row in rows):
        raise FeatureError(
            f"expected {expected}, not a masked array: fill in the missing values first"
        )
    try:
        return np.asarray(embeddings)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        kind = type(embeddings).__name__
        raise FeatureError(
            f"expected {expected}, not a {kind} that is no array: {reason}"
        ) from error


def _kind(values: NDArray[Any]) -> str:
    return "a structured array" if values.dtype.names else str(values.dtype)


def _require_usable(values: NDArray[Any], largest: float) -> None:
    if not values.size or usable_float32(values, largest) is not None:
        return
    found = max(float(values.max()), -float(values.min()))
    if not np.isfinite(found):  # max and min of an array with NaN are NaN
        raise FeatureError("an embedding contains NaN or infinity: check how it was computed")
    if found > largest:
        raise FeatureError(
            f"an embedding has a value of size {found:g}: scale embeddings to at most {largest:g}"
        )


def usable_float32(embedding: object, largest: float = LARGEST) -> NDArray[np.float64] | None:
    """Return an embedding of float32 in float64, where one fast product shows that it is usable.

    None for everything else, which must be checked by `embedding_numbers`.
    """
    if type(embedding) is not np.ndarray:  # a masked array, for example
        return None
    if embedding.dtype != np.float32 or embedding.ndim != 1 or not embedding.size:
        return None
    wide = embedding.astype(np.float64)  # in which squares of float32 do not overflow
    return wide if wide.dot(wide) <= largest**2 else None


def require_width(embeddings: NDArray[Any], width: int) -> None:
    """Raise FeatureError if embeddings have another width than those that were taught."""
    found = embeddings.shape[-1]
    if found != width:
        raise FeatureError(f"an embedding has width {found}, but those taught have {width}")


@dataclass(frozen=True, eq=False)
class ClassifierState:
    """Everything that a classifier was taught. It never changes."""

    labels: tuple[str, ...]
    """The labels of the folded sums. Further ones follow, in the order of their first sample."""
    samples: tuple[Sample, ...]
    """In the order in which they were taught."""
    folded: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """The sums of samples that are not kept themselves, if there are any; see `slda`."""

    @property
    def folded_counts(self) -> dict[str, int]:
        """The number of samples per label that are not kept themselves.

        Raises:
            StateError: The array of these numbers is damaged.
        """
        if not self.folded:
            return {}
        counts = self.array("counts", len(self.labels))
        return dict(zip(self.labels, map(int, counts.tolist()), strict=True))

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples taught per label, in the order in which they were first taught.

        What was taught as unknown does not count.

        Raises:
            StateError: The array of the folded counts is damaged.
        """
        counts = self.folded_counts
        for sample in self.samples:
            if sample.label != UNKNOWN:
                counts[sample.label] = counts.get(sample.label, 0) + 1
        return counts

    @property
    def nbytes(self) -> int:
        """The number of bytes that all embeddings and sums take."""
        arrays = [*(sample.embedding for sample in self.samples), *self.folded.values()]
        return sum(array.nbytes for array in arrays)

    def require_consistent(self) -> int | None:
        """Return the width of the embeddings, or None if there are none.

        What was taught is not checked again: the numbers of a file must be checked when it is read.

        Raises:
            StateError: A label has no sample, or an embedding or an id cannot be one.
        """
        if not all(count > 0 for count in self.counts.values()):
            raise StateError("state has a label without samples")
        if self.folded and UNKNOWN in self.labels:
            raise StateError("state has sums of what was taught as unknown, which are never kept")
        if self.folded and len(set(self.labels)) != len(self.labels):
            raise StateError("state has a duplicate label")
        if len({sample.id for sample in self.samples}) != len(self.samples):
            raise StateError("state has two samples with the same id")
        widths = {sample.embedding.shape for sample in self.samples}
        if self.folded:
            widths.add(self.array("means", len(self.labels), None).shape[1:])
        if len(widths) > 1 or not all(len(shape) == 1 and shape[0] > 0 for shape in widths):
            raise StateError("state has embeddings of different widths")
        return next(iter(widths))[0] if widths else None

    def array(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Return a copy of one of the folded sums.

        Args:
            name: Its name.
            shape: The expected shape; None stands for any length.

        Raises:
            StateError: It is missing, has another shape, or holds a value that is not finite.
        """
        array = self.folded.get(name)
        if array is None:
            raise StateError(f"state lacks the array {name!r}")
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, found) for found, wanted in zip(array.shape, shape, strict=True)
        )
        if not fits:
            raise StateError(f"state array {name!r} has shape {array.shape}, expected {shape}")
        largest = float(np.abs(array).max(initial=0)) if array.dtype.kind in "fiu" else np.inf
        if not largest <= LARGEST_STORED:  # also if it is NaN
            raise StateError(f"state array {name!r} contains values that are not finite numbers")
        return np.array(array, np.float64)
