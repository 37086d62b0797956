"""Words that messages of all kinds share."""


def counted(number: int, what: str) -> str:
    """A number of things, in words.

    >>> counted(1, "picture"), counted(2, "picture")
    ('1 picture', '2 pictures')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
