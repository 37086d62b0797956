"""Labels: the names under which objects are taught.

A classifier takes any text of one line as a label. A learner takes less: its labels are normalised,
so that two spellings that look the same are one label. "unknown" is the label of what is none of
the taught objects: it can be taught, and shows what else there is, but it is never predicted.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence

from robocle._internal.wording import listed
from robocle.errors import LabelError, UnknownLabelError

MAX_LABEL_LENGTH = 200
MAX_BADGE_LENGTH = 16
LISTED = 10
"""How many labels a message lists."""
JOINED = re.compile("(?<=[\u2000-\U0010ffff])\u200d(?=[\u2000-\U0010ffff])")
"""The invisible character that makes one emoji of two, such as a technologist."""
NOT_UTF8 = re.compile("[\ud800-\udfff\N{REPLACEMENT CHARACTER}]")
"""What stands for bytes that are not UTF-8: in names of files, and in addresses of requests."""
UNKNOWN = "unknown"
"""What is printed for objects that were not taught, and the label to teach examples of them."""


def require_label(label: str) -> str:
    """Return a label as a learner keeps it.

    Args:
        label: The label as it was given.

    Returns:
        The label in Unicode's composed form (NFC), without surrounding white space; "unknown" in
        lower case.

    Raises:
        LabelError: The label is not text, is empty or too long, is not UTF-8, or cannot be shown on
            one line.

    >>> require_label(" coffee mug ")
    'coffee mug'
    >>> require_label("cafe\\N{COMBINING ACUTE ACCENT}") == "caf\\N{LATIN SMALL LETTER E WITH ACUTE}"
    True
    >>> require_label("Unknown")
    'unknown'
    """  # noqa: E501
    if isinstance(label, str) and NOT_UTF8.search(label):
        raise LabelError(f"the label {label!r} is not valid UTF-8: write it as UTF-8", label)
    found = plain_label(normalised(label) if isinstance(label, str) else label)
    return UNKNOWN if found.casefold() == UNKNOWN else found


def require_name(label: str) -> str:
    """Return a label that is the name of an object; see `require_label`.

    Raises:
        LabelError: The label cannot be used, or is "unknown".

    >>> require_name("Unknown")
    Traceback (most recent call last):
    robocle.errors.LabelError: 'unknown' is what is printed for objects that were not taught: choose another name
    """  # noqa: E501
    return require_object(require_label(label))


def require_object(label: str) -> str:
    """Return a label, if it is not "unknown".

    Raises:
        LabelError: It is.
    """
    if label == UNKNOWN:
        raise LabelError(
            f"{label!r} is what is printed for objects that were not taught: choose another name",
            label,
        )
    return label


def plain_label(label: str) -> str:
    """Return a label as a classifier keeps it: any text of one line, as it was given.

    Raises:
        LabelError: The label is not text, is empty or too long, or cannot be shown on one line.

    >>> len(plain_label("\\N{MAN}\\N{ZERO WIDTH JOINER}\\N{PERSONAL COMPUTER}"))  # one emoji
    3
    >>> plain_label(" ")
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
    if not JOINED.sub("", label).isprintable():
        raise LabelError(
            f"the label {label!r} contains control or invisible characters: use plain text", label
        )
    return str(label)  # numpy's texts, for example, are of a subclass


def require_badge(badge: str) -> str:
    """Return the badge of a label.

    Args:
        badge: An emoji, or a colour such as "#2a6fdb"; empty for none.

    Raises:
        LabelError: It is something else.

    >>> require_badge("#2A6FDB"), require_badge("\\N{HOT BEVERAGE}") != ""
    ('#2a6fdb', True)
    >>> require_badge("mug")
    Traceback (most recent call last):
    robocle.errors.LabelError: a badge is an emoji or a colour such as #2a6fdb, not 'mug'
    """
    if badge == "":
        return ""
    found = plain_label(badge)
    if re.fullmatch("#[0-9a-fA-F]{6}", found):
        return found.lower()
    is_symbol = any(unicodedata.category(sign) in ("So", "Me") for sign in found)
    if len(found) > MAX_BADGE_LENGTH or not is_symbol or any(map(str.isalpha, found)):
        raise LabelError(
            f"a badge is an emoji or a colour such as #2a6fdb, not {found[:20]!r}", badge
        )
    return found


def require_labels(labels: Iterable[str]) -> list[str]:
    """Return labels as a learner keeps them.

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


def normalised(label: str) -> str:
    """Return a label in Unicode's composed form (NFC), without surrounding white space."""
    return unicodedata.normalize("NFC", label).strip()


def spelling_of(label: str, known: Sequence[str]) -> str | None:
    """Return a label as a learner keeps it, if it is known, or None.

    >>> spelling_of(" mug", ["mug", "pan"]), spelling_of("Unknown", ["mug", "unknown"])
    ('mug', 'unknown')
    """
    found = normalised(label) if isinstance(label, str) else label
    if found not in known and str(found).casefold() == UNKNOWN:
        found = UNKNOWN
    return found if found in known else None


def similar_label(label: str, known: Iterable[str]) -> str | None:
    """Return a known label that differs in upper and lower case or in spaces only, or None.

    >>> similar_label("Coffee  mug", ["pan", "coffee mug"])
    'coffee mug'
    """
    folded = label.casefold().split()
    return next(
        (each for each in known if each != label and each.casefold().split() == folded), None
    )


def never_taught(label: object, known: Sequence[str]) -> UnknownLabelError:
    """Return the error for a label that was never taught, with the labels it might mean.

    >>> print(never_taught("bik", ["box", "bike", "Mug"]))
    the label 'bik' was never taught: did you mean 'bike'? (known: Mug, bike, box)
    """
    message = f"the label {str(label)[:MAX_LABEL_LENGTH]!r} was never taught"
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(str(label).casefold(), folded, n=1)
    hint = f" did you mean {folded[close[0]]!r}?" if close else ""
    names = listed(sorted(known), "other", LISTED)
    listing = f"known: {names}" if known else "nothing has been taught yet"
    return UnknownLabelError(
        f"{message}:{hint} ({listing})" if hint else f"{message}; {listing}", label
    )
