"""A stub backbone for tests that teach embeddings, and random embeddings."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone


class StubBackbone:
    """A backbone that is never run."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())


def embedding(seed: int | Sequence[int], width: int) -> NDArray[np.float32]:
    """Return a random embedding without negative values, like those of most backbones."""
    return np.abs(np.random.default_rng(seed).normal(size=width)).astype(np.float32)
