"""Steps: what the user did in one go, which is undone in one go."""

import secrets
from dataclasses import dataclass, field

from robocle._internal.wording import listed, one_line, plural

MAX_TEXT = 1000


@dataclass(frozen=True)
class Step:
    """A step that can be undone or redone."""

    id: str
    """What `undo` and `redo` take to name it. Several programs may change a state at once."""
    description: str
    """What it did, such as "teaching 3 pictures of 'mug'"."""
    time: float
    """When it was begun, in seconds since 1970."""
    number: int = 0
    """In which order the steps of the file were done."""

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class StepName:
    """What the operations of a step are recorded under."""

    title: str | None = None
    """What the user calls it; None if the operations say what they did."""
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    @classmethod
    def of(cls, title: str | None, token: str | None = None) -> "StepName":
        r"""Return a name; what cannot be printed on one line is left out.

        >>> StepName.of("the\nkitchen").title
        'the kitchen'
        """
        given = {} if token is None else {"token": one_line(token, MAX_TEXT)}
        return cls(None if title is None else one_line(title, MAX_TEXT), **given)


def described(title: str | None, done: str, taught: str) -> str:
    r"""Return what a step did.

    Args:
        title: What the user calls it, if anything.
        done: What it did beside teaching, one line each.
        taught: The label of each picture that it taught, one line each.

    >>> described(None, "", "mug\npan\nmug")
    "teaching 3 pictures of 'mug', 'pan'"
    """
    if title is not None:
        return title
    pictures = taught.splitlines()
    labels = listed(map(repr, dict.fromkeys(pictures)), "other label")
    number = f"{plural(len(pictures), 'picture')} of " if len(pictures) > 1 else ""
    return listed([*([f"teaching {number}{labels}"] if taught else []), *done.splitlines()],
                  "other change")  # fmt: skip
