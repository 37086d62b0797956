"""Words that messages of all kinds share."""


def plural(number: int, what: str) -> str:
    """A number of things, in words.

    >>> plural(1, "picture"), plural(2, "picture")
    ('1 picture', '2 pictures')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
