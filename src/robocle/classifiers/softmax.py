"""The softmax function, for softmax layers and for turning scores into probabilities.

`scipy.special.softmax` computes the same, but importing `scipy.special` takes longer than importing
all of robocle.
"""

import numpy as np
from numpy.typing import NDArray


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax along the last axis.

    Args:
        logits: An array of any shape; the last axis may be empty.

    Returns:
        An array of the same shape. Entries along the last axis are not negative and sum to 1.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities
