"""A backbone that is never run, with the widths of the default one: only embeddings are taught."""

from typing import cast

from robocle.backbones import Backbone

CHANNELS, EARLIER_CHANNELS = 1280, 672
WIDTH = 3 * CHANNELS + 2 * EARLIER_CHANNELS
LAYOUT = f"3+2x{EARLIER_CHANNELS}"
"""The blocks of the default pooling's embeddings."""


class StubBackbone:
    """The attributes of a backbone that a learner needs to be taught embeddings."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8
    earlier_channels = EARLIER_CHANNELS


STUB = cast(Backbone, StubBackbone())
