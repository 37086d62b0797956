"""Lp pooling: the mean of the p-th powers over the positions (Feng et al. 2011).

- `form=root`: (mean |g|^p)^(1/p), the norm, which has the scale of the values themselves;
- `form=raw`: mean g^p, the non-central moment that the paper's text describes.
"""

from typing import Literal, get_args

import numpy as np

from robocle.spec import Described, require_between, require_choice
from robocle.types import Embeddings, FeatureMaps

Form = Literal["root", "raw"]


class PowerMean(Described):
    """The mean of the p-th powers, as a norm or raw.

    Args:
        p: The power, from 1 to 8.
        form: "root" for the norm, "raw" for the mean of the powers.

    Raises:
        SpecError: An option has a value that is not allowed.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [7]]], np.float32))
        >>> PowerMean(p=2)(maps).tolist(), PowerMean(p=2, form="raw")(maps).tolist()
        ([[5.0]], [[25.0]])
    """

    blocks = 1

    def __init__(self, p: int = 2, form: Form = "root") -> None:
        require_between("p", p, 1, 8)
        require_choice("form", form, get_args(Form))
        self.p = p
        self.form = form

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        # Values are divided by the largest of their channel, so that no power can overflow.
        largest = np.abs(maps.grid).max(axis=1)
        safe = np.where(largest > 0, largest, 1).astype(np.float32)
        relative = maps.grid / safe[:, None]
        with np.errstate(under="ignore"):
            if self.form == "root":
                mean = _power(np.abs(relative), self.p).mean(axis=1)
                return np.asarray(largest * mean ** (1 / self.p), np.float32)
            mean = _power(relative, self.p).mean(axis=1, dtype=np.float64)
            raw = largest.astype(np.float64) ** self.p * mean
            limit = np.finfo(np.float32).max
            return np.asarray(np.clip(raw, -limit, limit), np.float32)


def _power(values: Embeddings, p: int) -> Embeddings:
    """Compute a power by products, because a floating-point power takes seventy times as long."""
    power = values
    for _ in range(p - 1):
        power = power * values
    return power
