"""The two forms of a scatter: compressed for few samples, dense for many. Both are exact."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.triangle import packed, packed_size
from robocle.classifiers.state import (
    ClassifierState,
    OneRowPerLabel,
    Ownership,
    RowsCountedBy,
    Shared,
    Vector,
)

Form = CompressedScatter | DenseScatter


def fastest(form: Form) -> Form:
    """Return the form itself, or its dense equivalent if that is faster."""
    if isinstance(form, CompressedScatter) and form.dense_is_faster:
        return form.to_dense()
    return form


def merged(mine: Form, added: Form, rows: list[int], weights: Vector, steps: Vector) -> Form:
    """Return a form with what two forms have learned. The first one must not be used afterwards.

    Let v be the difference between the means of a class in `added` and in `mine`: step * v is added
    to the mean and weight * v v^T to the scatter.

    Args:
        mine: The form to add to.
        added: The form to add. It does not change.
        rows: The row in `mine` of each class of `added`.
        weights: One weight per class of `added`.
        steps: One step per class of `added`.
    """
    if isinstance(mine, CompressedScatter) and isinstance(added, CompressedScatter):
        mine.merge(added, rows, weights, steps)
        return fastest(mine)
    mine, added = (
        form.to_dense() if isinstance(form, CompressedScatter) else form for form in (mine, added)
    )
    mine.merge(added, rows, weights, steps)
    return mine


def restored(
    state: ClassifierState, blocks: int, factors: ClassFactors, *, centred: bool = True
) -> Form:
    """Return the form whose arrays a state holds.

    Raises:
        StateError: The state is damaged.
    """
    dense = state.has("means")
    width = state.checked("means" if dense else "basis", None, None).shape[1]
    kind = DenseScatter if dense else CompressedScatter
    form = kind(width, blocks, factors, centred=centred)
    form.restore(state)
    return form


def array_owners(prefix: str = "") -> dict[str, Ownership]:
    """Return which labels own the rows of each array of a form, by array name with a prefix."""
    owners: dict[str, Ownership] = {
        "means": OneRowPerLabel(),
        "mean_coordinates": OneRowPerLabel(),
        "part_rows": RowsCountedBy(f"{prefix}part_counts"),
        "sample_rows": RowsCountedBy(f"{prefix}sample_counts"),
    }
    for shared in ("basis", "scatter", "span_scatter", "part_counts", "sample_counts"):
        owners[shared] = Shared()
    return {prefix + name: owner for name, owner in owners.items()}


def rebuilt_scatter(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Return a scatter as the sum of all class factors, or None if the state has none."""
    prefix = name.removesuffix("span_scatter").removesuffix("scatter")
    rows = arrays.get(f"{prefix}part_rows")
    if prefix == name or rows is None or rows.ndim != 2:
        return None
    width = rows.shape[1]
    expected = (width, width) if name.endswith("span_scatter") else (packed_size(width),)
    if arrays[name].shape != expected:
        return None
    whole: NDArray[Any] = rows.T @ rows
    return whole if len(expected) == 2 else packed(whole)
