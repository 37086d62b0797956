"""Labels: the names under which objects are taught."""

from robocle.errors import LabelError

MAX_LABEL_LENGTH = 200


def require_label(label: str) -> str:
    """Check that a label can be used.

    Args:
        label: The label to check.

    Returns:
        The label, unchanged.

    Raises:
        LabelError: The label is not text, is empty or too long, or cannot be shown on one line.

    >>> require_label("coffee mug")
    'coffee mug'
    >>> require_label(" ")
    Traceback (most recent call last):
    robocle.errors.LabelError: the label is empty: give the object a name
    """
    if not isinstance(label, str):
        raise LabelError(f"a label must be text, not {type(label).__name__}", label)
    if not label.strip():
        raise LabelError("the label is empty: give the object a name", label)
    if len(label) > MAX_LABEL_LENGTH:
        raise LabelError(
            f"the label {label[:20]!r}... has {len(label)} characters: "
            f"use at most {MAX_LABEL_LENGTH}",
            label,
        )
    if not label.isprintable():
        raise LabelError(f"the label {label!r} contains control characters: use plain text", label)
    return label
