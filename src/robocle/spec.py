"""Specs: parts named in one line of text, such as "slda:scatter=exact,shrinkage=oas".

A spec is the name of a part and its options, which are the arguments of the part's constructor. An
argument without a default is the part's subject. It comes first, without a key, like the file in
"onnx:model.onnx,output=map". `robocle.registry` builds parts from specs.
"""

import difflib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral

from robocle.errors import SpecError

Option = int | float | str


@dataclass(frozen=True)
class Spec:
    """The name of a part and the options that were given.

    >>> parse_spec("moments:r=3,form=root")
    Spec(name='moments', options={'r': 3, 'form': 'root'}, first='')
    >>> parse_spec("onnx:model.onnx,output=map")
    Spec(name='onnx', options={'output': 'map'}, first='model.onnx')
    >>> str(parse_spec("avg"))
    'avg'
    """

    name: str
    options: Mapping[str, Option]
    first: str = ""
    """The subject: what comes first after the colon, without a key."""
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The options as they were written: a text may look like a number."""

    def __str__(self) -> str:
        pairs = [f"{key}={value}" for key, value in self.options.items()]
        listed = ",".join([self.first, *pairs] if self.first else pairs)
        return f"{self.name}:{listed}" if listed else self.name


def parse_spec(text: str) -> Spec:
    """Parse "name:key=value,key=value" or "name:subject,key=value".

    Args:
        text: The spec.

    Returns:
        Its name and options; numbers are converted.

    Raises:
        SpecError: The text is not a spec.
    """
    if not isinstance(text, str):
        raise SpecError(f"a spec is text such as 'name:key=value', not {text!r}")
    name, _, listed = text.partition(":")
    pairs = listed.split(",") if listed else []
    first = pairs.pop(0) if pairs and pairs[0] and "=" not in pairs[0] else ""
    options: dict[str, Option] = {}
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise SpecError(
                f"cannot read {pair!r} in {text!r}: write name:key=value,key=value "
                "(no value can hold a comma)"
            )
        if key in options:
            raise SpecError(f"{key} is given twice in {text!r}")
        options[key] = _option(value)
        texts[key] = value
    return Spec(name, options, first, texts)


def _option(text: str) -> Option:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return how to go on after an unknown name: the closest known one, or all of them.

    >>> suggestion("sdla", ["slda", "ncm"])
    "did you mean 'slda'?"
    >>> suggestion("tree", ["slda", "ncm"])
    'known: ncm, slda'
    """
    known = sorted(known)
    close = sorted(difflib.get_close_matches(name, known))
    if not close:
        return f"known: {', '.join(known)}"

    def closeness(each: str) -> tuple[float, int]:
        alike = difflib.SequenceMatcher(None, each, name).ratio()
        return alike, sum(a == b for a, b in zip(each, name, strict=False))

    return f"did you mean {max(close, key=closeness)!r}?"


def require_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise SpecError if an option's value is not one of the choices."""
    if value not in choices:
        raise SpecError(f"{option}={value} is not known: choose {' or '.join(choices)}")


def require_between(option: str, value: float, low: float, high: float) -> None:
    """Raise SpecError if a number is outside low..high, or NaN."""
    if not low <= value <= high:
        raise SpecError(f"{option}={value} is out of range: give {low:g} to {high:g}")


def require_whole(option: str, value: int, low: int, high: int) -> None:
    """Raise SpecError if a number is not a whole number in low..high."""
    if not isinstance(value, Integral):
        raise SpecError(f"{option}={value!r} is not a whole number: give {low} to {high}")
    require_between(option, int(value), low, high)


def require_number_or(
    option: str, value: float | str, low: float, high: float, words: tuple[str, ...]
) -> None:
    """Raise SpecError if an option's value is neither a number in low..high nor one of words."""
    if not isinstance(value, str):
        require_between(option, value, low, high)
    elif value not in words:
        raise SpecError(f"{option}={value} is unknown: give a number, {' or '.join(words)}")


class Described:
    """Gives a part a `repr` that shows its constructor arguments with their current values.

    Each argument must be kept in an attribute of the same name, as `Registry.describe` also needs.

    >>> class Blur(Described):
    ...     def __init__(self, radius: int = 2, edge: str = "mirror") -> None:
    ...         self.radius, self.edge = radius, edge
    >>> Blur(radius=5)
    Blur(radius=5, edge='mirror')
    """

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        arguments = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({arguments})"
