"""RobOCLe's pooling: the first R statistical moments of each channel over the positions (eq. 1).

Block 1 is the mean and block 2 the standard deviation. The higher orders have two forms:
- `root`: the signed r-th root of the central moment, which has the scale of the mean;
- `standardised`: the moment of (g - mean) / deviation, the literal reading of the equation. It
  reaches positions^(r/2 - 1), which can be more than ten times the scale of the mean.
A constant channel has moments 0 from order 2 on, never NaN.
"""

from typing import get_args

from robocle.poolings.position_moments import Form, PositionMoments
from robocle.spec import Described, require_between, require_choice
from robocle.types import Embeddings, FeatureMaps


class Moments(Described):
    """RobOCLe's moments: mean, standard deviation and the orders 3 to r, concatenated.

    Args:
        r: The number of moments, from 1 to 8.
        form: How the orders from 3 on are scaled, "root" or "standardised".

    Raises:
        SpecError: An option has a value that is not allowed.

    Example:
        >>> import numpy as np
        >>> maps = FeatureMaps(np.array([[[1], [1], [1], [5]]], np.float32))
        >>> Moments(r=3)(maps).round(2)
        array([[2.  , 1.73, 1.82]], dtype=float32)
        >>> Moments(r=3, form="standardised")(maps).round(2)
        array([[2.  , 1.73, 1.15]], dtype=float32)
    """

    def __init__(self, r: int = 3, form: Form = "root") -> None:
        require_between("r", r, 1, 8)
        require_choice("form", form, get_args(Form))
        self.r = r
        self.form = form

    @property
    def blocks(self) -> int:
        """One block per moment."""
        return self.r

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        return PositionMoments(self.r, self.form)(maps.grid)
