"""Steps: what the user did in one go, which is undone in one go."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from robocle.wording import plural

MAX_DESCRIPTION = 1000
NAMED_LABELS = 5
"""How many labels a description names."""


def _new_token() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Step:
    """What the user did in one go: its operations have one token and are undone together."""

    description: str | None = None
    """What was done; None if the operations say it themselves."""
    token: str = field(default_factory=_new_token)

    def __post_init__(self) -> None:
        texts = [self.token, self.description or ""]
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            raise ValueError("step with control characters")
        if max(map(len, texts)) > MAX_DESCRIPTION:
            raise ValueError(f"step with more than {MAX_DESCRIPTION} characters")

    @classmethod
    def of(cls, description: str | None, token: str | None = None) -> "Step":
        """Return a new step; what cannot be printed on one line is left out of its description.

        Args:
            description: What is done; None if the operations say it themselves.
            token: The token; None for a new one.
        """
        token = token or _new_token()
        if description is None:
            return cls(None, token)
        line = " ".join(str(description).split())
        return cls("".join(filter(str.isprintable, line))[:MAX_DESCRIPTION], token)


def step_words(step: Step) -> dict[str, str]:
    """Return a step as an object for JSON."""
    described = {} if step.description is None else {"description": step.description}
    return {"step": step.token, **described}


def step_from_words(described: object) -> Step:
    """Return the step that an object of JSON describes.

    Raises:
        ValueError: It describes no step.
    """
    match described:
        case {"step": str(token), "description": str(description)}:
            return Step(description, token)
        case {"step": str(token)}:
            return Step(None, token)
    raise ValueError("unknown step")


def same_step(one: Step | None, other: Step | None) -> bool:
    """Return whether two operations with these steps are undone together."""
    return one is not None and other is not None and one.token == other.token


def teaching(pictures: int, labels: Iterable[str]) -> str:
    """Return that pictures of these labels were taught."""
    return f"teaching {plural(pictures, 'picture')} of {listed(map(repr, labels), 'other label')}"


def listed(items: Iterable[str], noun: str) -> str:
    """Return the first items with commas, and how many more there are.

    >>> listed("abcdefg", "letter")
    'a, b, c, d, e and 2 letters'
    """
    first = list(items)
    more = f" and {plural(len(first) - NAMED_LABELS, noun)}" if len(first) > NAMED_LABELS else ""
    return ", ".join(first[:NAMED_LABELS]) + more
