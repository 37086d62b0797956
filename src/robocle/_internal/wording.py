"""Wording that messages and reports share."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable

# Control and format characters, surrogates, line and paragraph separators: a terminal may obey them
# in place of showing them. Spaces of all kinds are harmless, and so are the two joiners, which
# emoji and some scripts need.
OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    Args:
        number: How many there are.
        noun: The noun in the singular; its plural ends in s.

    >>> plural(1, "picture"), plural(2, "picture")
    ('1 picture', '2 pictures')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(items: Iterable[str], noun: str, most: int = 5) -> str:
    """Return the first items with commas, and how many more there are.

    >>> listed("abcdefg", "letter")
    'a, b, c, d, e and 2 letters'
    """
    found = list(items)
    more = f" and {plural(len(found) - most, noun)}" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def without_login(address: str) -> str:
    """Return a URL, or an address without a scheme, with ... in place of the user and password.

    A password may contain any character, so everything before the last @ counts as the login.

    >>> without_login("rtsp://admin:p@ss/word@cam/1"), without_login("me:pw@host")
    ('rtsp://...@cam/1', '...@host')
    """
    return re.sub(r"(?is)^([a-z][a-z0-9+.-]*://)?.*@", r"\1...@", address)


def one_line(text: object, most: int) -> str:
    r"""Return text without what cannot be printed on one line, up to a number of characters.

    >>> one_line("the\nkitchen\x1b", 20)
    'the kitchen'
    """
    return "".join(filter(str.isprintable, " ".join(str(text).split())))[:most]


def printable(text: object, keep: str = "") -> str:
    """Return text with escapes in place of characters that a terminal would obey.

    Args:
        text: What to print, such as the name of a file from elsewhere.
        keep: Control characters to leave as they are, such as newlines between lines.

    >>> print(printable("mug\\x1b[2J.jpg"), printable("a\\tb", keep="\\t") == "a\\tb")
    mug\\x1b[2J.jpg True
    """
    return _escaped(str(text), keep, lambda sign: sign.encode("unicode_escape").decode())


def in_words(label: str | None, verdict: str, nothing: str) -> str:
    """Return what a picture shows, as all programs print it.

    >>> in_words(None, "nothing", "the picture is black"), in_words("mug", "known", "")
    ('nothing: the picture is black', 'mug')
    """
    return label or (f"nothing: {nothing}" if verdict == "nothing" and nothing else verdict)


def as_json(value: object) -> str:
    """Return a value as one line of JSON that is safe to print.

    >>> as_json({"café": "\\x9b2J"})
    '{"café": "\\\\u009b2J"}'
    """
    return _escaped(json.dumps(value, ensure_ascii=False), "", _json_escape)


def _json_escape(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) <= 0xFFFF else json.dumps(sign)[1:-1]


def _escaped(text: str, keep: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(escape(each) if _is_obeyed(each, keep) else each for each in text)


def _is_obeyed(sign: str, keep: str) -> bool:
    return unicodedata.category(sign) in OBEYED and sign not in JOINERS and sign not in keep
