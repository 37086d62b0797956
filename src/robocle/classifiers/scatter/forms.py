"""The two forms of a scatter: compressed while samples are few, dense beyond. Both are exact."""

from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.streaming import Vector

Form = CompressedScatter | DenseScatter


def fitting(form: Form) -> Form:
    """The form, or the dense one where that serves better."""
    return form.to_dense() if isinstance(form, CompressedScatter) and form.crowded else form


def merged(mine: Form, added: Form, rows: list[int], weights: Vector, steps: Vector) -> Form:
    """What both forms have learnt, in one; `mine` is used up."""
    if isinstance(mine, CompressedScatter) and isinstance(added, CompressedScatter):
        mine.merge(added, rows, weights, steps)
        return fitting(mine)
    mine, added = (
        form.to_dense() if isinstance(form, CompressedScatter) else form for form in (mine, added)
    )
    mine.merge(added, rows, weights, steps)
    return mine
