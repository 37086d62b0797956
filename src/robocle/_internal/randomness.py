"""Keyed random numbers: every generator is derived from (seed, purpose, item).

A draw depends on its key alone and never on earlier draws. A picture that is rendered on its own
therefore equals the same picture rendered among a thousand others, in any order and any process.
"""

from __future__ import annotations

import hashlib

import numpy as np

Key = str | int
Rng = np.random.Generator


def keyed_rng(seed: int, *key: Key) -> Rng:
    """Return the random generator that belongs to a seed and a key.

    Args:
        seed: The seed of the whole run.
        *key: What the numbers are for, such as a purpose and the name of an item. The type counts:
            the keys 1 and "1" have different generators.

    Returns:
        A new generator. The same arguments always return one in the same state.

    Example:
        >>> float(keyed_rng(0, "mug", 1).random()) == float(keyed_rng(0, "mug", 1).random())
        True
        >>> float(keyed_rng(0, "mug", 1).random()) == float(keyed_rng(0, "mug", 2).random())
        False
    """
    text = "\x1f".join(f"{type(item).__name__}:{item}" for item in (seed, *key))
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
