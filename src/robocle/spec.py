"""Specs: parts named in one line of text, such as "slda:scatter=exact,shrinkage=oas".

A table lists the parts of one kind by name. Built-in parts and plug-ins come in by the same door:
an import path "module:Class", ours from the table, other people's from the entry point group
"robocle.<kind>s" of an installed package. A part's options are its constructor's arguments.
"""

import difflib
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from robocle.errors import SpecError

Option = int | float | str
Part = TypeVar("Part")


@dataclass(frozen=True)
class Spec:
    """A part's name and the options that were given.

    >>> parse_spec("moments:r=3,form=root")
    Spec(name='moments', options={'r': 3, 'form': 'root'})
    >>> str(parse_spec("avg"))
    'avg'
    """

    name: str
    options: Mapping[str, Option]
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The options as they were written: a text option may look like a number."""

    def __str__(self) -> str:
        listed = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}:{listed}" if listed else self.name


def parse_spec(text: str) -> Spec:
    """Read "name:key=value,key=value"."""
    name, _, listed = text.partition(":")
    options: dict[str, Option] = {}
    texts: dict[str, str] = {}
    for pair in listed.split(",") if listed else []:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise SpecError(f"cannot read {pair!r} in {text!r}: write name:key=value,key=value")
        if key in options:
            raise SpecError(f"{key} is given twice in {text!r}")
        options[key] = _option(value)
        texts[key] = value
    return Spec(name, options, texts)


def _option(text: str) -> Option:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """How to go on after an unknown name: the nearest spelling, or all there are."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"


def require_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse an option's value that is not one of the choices."""
    if value not in choices:
        raise SpecError(f"{option}={value} is not known: choose {' or '.join(choices)}")


def require_between(option: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside low..high."""
    if not low <= value <= high:  # NaN is not, either
        raise SpecError(f"{option}={value} is out of range: give {low:g} to {high:g}")


class Table(Generic[Part]):
    """The parts of one kind, by name."""

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)

    def names(self) -> list[str]:
        """All names that can be built, ours first."""
        return list(self._builtin | self._plugins())

    def build(self, spec: str, **context: Option) -> Part:
        """The part a spec describes.

        The context fills those options of the part that the spec leaves open and that it has.
        """
        parsed = parse_spec(spec)
        cls = self._class(parsed.name)
        known = _hints(cls)
        options = dict(parsed.options)
        for key, value in options.items():
            if known.get(key) is str:
                options[key] = parsed.texts[key]
            else:
                _require_option(parsed.name, known, key, value)
        fitting = {key: value for key, value in context.items() if key in known}
        return cls(**fitting | options)

    def require(self, spec: str) -> None:
        """Refuse a spec whose name is unknown, without building anything."""
        self._class(parse_spec(spec).name)

    def describe(self, part: Part) -> str:
        """The spec that builds this part again, every option written out."""
        # Ours first: looking for plug-ins reads the metadata of every installed package.
        names = (name for source in (self._builtin.keys, self._plugins) for name in source())
        name = next((n for n in names if self._class(n) is type(part)), None)
        if name is None:
            raise SpecError(f"{type(part).__name__} is not a known {self.kind}")
        return str(Spec(name, {key: getattr(part, key) for key in _hints(type(part))}))

    def summary(self, name: str) -> str:
        """One line that says what a part is: the first of its docstring."""
        return (inspect.getdoc(self._class(name)) or "").partition("\n")[0]

    def defaults(self, name: str) -> dict[str, Option]:
        """The options of a part and what they are if left out."""
        signature = inspect.signature(self._class(name))
        return {key: option.default for key, option in signature.parameters.items()}

    def _class(self, name: str) -> type[Part]:
        targets = self._builtin if name in self._builtin else self._plugins()
        if name not in targets:
            raise SpecError(f"unknown {self.kind} {name!r}: {nearest(name, self.names())}")
        module, _, attribute = targets[name].partition(":")
        return typing.cast(type[Part], getattr(import_module(module), attribute))

    def _plugins(self) -> dict[str, str]:
        return {point.name: point.value for point in entry_points(group=f"robocle.{self.kind}s")}


def _hints(cls: type[Any]) -> dict[str, Any]:
    """The constructor's options and their types."""
    return {
        key: hint
        for key, hint in typing.get_type_hints(cls.__init__).items()
        if key in inspect.signature(cls).parameters
    }


def _require_option(name: str, known: Mapping[str, Any], key: str, value: Option) -> None:
    if key not in known:
        options = nearest(key, known) if known else "it has no options"
        raise SpecError(f"{name} has no option {key!r}: {options}")
    hint = known[key]
    accepted = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if not (isinstance(value, accepted) or (float in accepted and isinstance(value, int))):
        wanted = " or ".join(kind.__name__ for kind in accepted)
        raise SpecError(f"{key}={value} of {name} must be {wanted}")
