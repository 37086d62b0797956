"""Variants of a method whose public code differs from its formulas."""

from typing import Literal, get_args

from robocle.spec import require_choice

Variant = Literal["correct", "published"]
"""`correct`: by the formulas. `published`: as the public code computes it."""


def require_variant(variant: str) -> None:
    """Raise SpecError if there is no such variant."""
    require_choice("variant", variant, get_args(Variant))
