"""Wording that messages and reports share."""


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    Args:
        number: How many there are.
        noun: The noun in the singular; its plural ends in s.

    >>> plural(1, "picture"), plural(2, "picture")
    ('1 picture', '2 pictures')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
