"""Labels: the names under which objects are taught."""

from collections.abc import Iterable

from robocle.errors import LabelError

MAX_LABEL_LENGTH = 200


def require_label(label: str) -> str:
    """Check that a label can be used.

    Args:
        label: The label to check.

    Returns:
        The label as a plain `str`.

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
    return str(label)  # numpy's texts, for example, are of a subclass


def require_labels(labels: Iterable[str]) -> list[str]:
    """Return labels that can be used.

    Raises:
        LabelError: A label cannot be used, or a single text was given in place of a list.

    >>> require_labels("mug")
    Traceback (most recent call last):
    robocle.errors.LabelError: the labels are the single text 'mug': give a list of labels
    """
    if isinstance(labels, str):  # it would be taken for a list of letters
        raise LabelError(
            f"the labels are the single text {labels!r}: give a list of labels", labels
        )
    return [require_label(label) for label in labels]
