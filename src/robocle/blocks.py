"""How an embedding is divided into blocks: which poolings lay them out, and classifiers read them.

A layout is written as "3", for three blocks of equal width, or as "3+2x672", for three blocks of
equal width that are followed by two blocks of width 672.
"""

import re
from dataclasses import dataclass

from robocle.errors import FeatureError, SpecError

MAX_BLOCKS = 64
Layout = int | str
"""A layout as an option of a spec has it: a number, or a text such as "3+2x672"."""


@dataclass(frozen=True)
class Blocks:
    """The layout of an embedding's blocks.

    >>> Blocks.parse("3+2x672")
    Blocks(last=3, earlier=2, earlier_width=672)
    >>> Blocks.parse("3+2x672").widths(5184)
    (1280, 1280, 1280, 672, 672)
    >>> str(Blocks(3)), str(Blocks(3, 2, 672))
    ('3', '3+2x672')
    """

    last: int
    """The number of blocks from the last map. They are equally wide."""
    earlier: int = 0
    """The number of blocks from the earlier map. They come after the others."""
    earlier_width: int = 0
    """The width of each block from the earlier map."""

    @classmethod
    def parse(cls, layout: Layout) -> "Blocks":
        """Return the layout that an option describes.

        Raises:
            SpecError: The option is not a layout.
        """
        found = re.fullmatch(r"(\d{1,2})(?:\+(\d{1,2})x(\d{1,6}))?", str(layout))
        blocks = cls(*(int(number or 0) for number in found.groups())) if found else cls(0)
        has_earlier = bool(blocks.earlier), bool(blocks.earlier_width)
        if not blocks.last or len(blocks) > MAX_BLOCKS or has_earlier[0] != has_earlier[1]:
            raise SpecError(
                f"blocks={layout} is not a number of blocks from 1 to {MAX_BLOCKS}, nor a layout "
                "such as 3+2x672: leave it out, and the learner sets it"
            )
        return blocks

    def __len__(self) -> int:
        return self.last + self.earlier

    def __str__(self) -> str:
        return (
            f"{self.last}+{self.earlier}x{self.earlier_width}" if self.earlier else f"{self.last}"
        )

    @property
    def option(self) -> Layout:
        """The layout as an option of a spec."""
        return str(self) if self.earlier else self.last

    def fitting(self, width: int) -> "Blocks":
        """Return the blocks that an embedding has: a narrow one has none of an earlier map.

        >>> Blocks(3, 2, 672).fitting(96)
        Blocks(last=3, earlier=0, earlier_width=0)
        """
        return self if width > self.earlier * self.earlier_width else Blocks(self.last)

    def widths(self, width: int) -> tuple[int, ...]:
        """Return the width of each block of an embedding.

        Raises:
            FeatureError: An embedding of this width does not have such blocks.
        """
        own = self.fitting(width)
        rest = width - own.earlier * own.earlier_width
        if rest < own.last or rest % own.last:
            what = "equal blocks" if not own.earlier else "blocks"
            raise FeatureError(
                f"an embedding of width {width} cannot be divided into {own} {what}: "
                "set blocks to the number of the pooling's blocks"
            )
        return (rest // own.last,) * own.last + (own.earlier_width,) * own.earlier
