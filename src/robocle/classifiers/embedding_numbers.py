"""The door through which embeddings come in: real, finite numbers of the right shape, or an error.

numpy would convert much that is no embedding (dates, texts of digits, masked values), so the kind
of the numbers is checked before anything is converted.
"""

import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.errors import FeatureError

LARGEST = 1e36
"""The largest absolute value that a classifier takes. Its square fits into a state; see
`robocle.classifiers.state`."""
REAL = "iuf"  # the kinds of numpy types that hold real numbers
SHAPES = {
    1: "an embedding, numbers of shape (width,)",
    2: "embeddings, numbers of shape (n, width)",
}


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
    if _is_masked(embeddings):
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


def _is_masked(embeddings: object) -> bool:
    if type(embeddings) is np.ndarray:  # no masked array, which has a type of its own
        return False
    if "numpy.ma" not in sys.modules:  # numpy imports it at first use, which takes a while
        return False
    rows = embeddings if isinstance(embeddings, list | tuple) else [embeddings]
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)


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
