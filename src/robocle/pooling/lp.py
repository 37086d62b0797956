"""Lp pooling: the mean of the p-th powers over the positions (Feng et al. 2011).

- `form=root`: (mean |g|^p)^(1/p), the norm, on the scale of the values themselves;
- `form=raw`: mean g^p, the non-central moment that the paper's text describes.
"""

import numpy as np

from robocle.spec import require_between, require_choice
from robocle.types import Embeddings, FeatureMaps


class PowerMean:
    """The mean of the p-th powers, as a norm or raw."""

    blocks = 1

    def __init__(self, p: int = 2, form: str = "root") -> None:
        require_between("p", p, 1, 8)
        require_choice("form", form, ("root", "raw"))
        self.p = p
        self.form = form

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        # Relative to each channel's largest value, so that no power can overflow.
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
    """By products: a floating-point power costs seventy times as much."""
    power = values
    for _ in range(p - 1):
        power = power * values
    return power
