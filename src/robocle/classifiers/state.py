"""The state of a classifier: everything that it was taught."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.labels import UNKNOWN
from robocle.classifiers.samples import Sample
from robocle.errors import StateError

# Squares of values up to this size, and products of squares, are finite. Sums of the squares of
# embeddings are smaller by far.
LARGEST_STORED = 1e75


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
