"""Everything random is keyed by (seed, what it is for, item).

A draw therefore depends on its key alone, never on what was drawn before it: one picture made on
its own equals the same picture made as part of a thousand, in any order and in any process.
"""

from __future__ import annotations

import hashlib

import numpy as np

Key = str | int


def keyed_rng(seed: int, *key: Key) -> np.random.Generator:
    """Return the generator that belongs to this seed and this key.

    >>> float(keyed_rng(0, "mug", 1).random()) == float(keyed_rng(0, "mug", 1).random())
    True
    >>> float(keyed_rng(0, "mug", 1).random()) == float(keyed_rng(0, "mug", 2).random())
    False
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in (seed, *key))
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
