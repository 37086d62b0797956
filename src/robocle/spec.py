"""Specs: parts named in one line of text, such as "slda:scatter=exact,shrinkage=oas".

A table lists the parts of one kind by name. Built-in parts and plug-ins come in by the same door:
an import path "module:Class", ours from the table, other people's from the entry point group
"robocle.<kind>s" of an installed package. A part's options are its constructor's arguments.

An argument without a default is what the part is about. It stands first and bare, as the file in
"onnx:model.onnx,output=map". Names that are found on this machine, such as those of the backbones
that were added, share one class: for it, the name is that argument.
"""

import difflib
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
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
    Spec(name='moments', options={'r': 3, 'form': 'root'}, first='')
    >>> parse_spec("onnx:model.onnx,output=map")
    Spec(name='onnx', options={'output': 'map'}, first='model.onnx')
    >>> str(parse_spec("avg"))
    'avg'
    """

    name: str
    options: Mapping[str, Option]
    first: str = ""
    """What stands bare after the colon."""
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The options as they were written: a text option may look like a number."""

    def __str__(self) -> str:
        pairs = [f"{key}={value}" for key, value in self.options.items()]
        listed = ",".join([self.first, *pairs] if self.first else pairs)
        return f"{self.name}:{listed}" if listed else self.name


def parse_spec(text: str) -> Spec:
    """Read "name:key=value,key=value" or "name:first,key=value"."""
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
    """How to go on after an unknown name: the suggestion spelling, or all there are."""
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


Targets = Callable[[], Mapping[str, str]]


def _nothing() -> dict[str, str]:
    return {}


class Registry(Generic[Part]):
    """The parts of one kind, by name."""

    def __init__(
        self,
        kind: str,
        builtin: Mapping[str, str],
        found: Targets = _nothing,
        obtainable: Targets = _nothing,
    ) -> None:
        """Names that come with robocle, names found on this machine, and how to get others."""
        self.kind = kind
        self._builtin = dict(builtin)
        self._found = found
        self._obtainable = obtainable

    def names(self) -> list[str]:
        """All names that can be built, ours first."""
        return list({**self._builtin, **self._found(), **self._plugins()})

    def builtin(self) -> list[str]:
        """The names that come with robocle, on every machine."""
        return list(self._builtin)

    def build(self, spec: str, **context: Option) -> Part:
        """The part a spec describes.

        The context fills those options of the part that the spec leaves open and that it has.
        """
        parsed = parse_spec(spec)
        cls = self._class(parsed.name)
        known = _hints(cls)
        if self._is_found(parsed.name):
            del known[_subject_of(cls)]
        options = dict(parsed.options)
        for key, value in options.items():
            if _accepted_types(known.get(key)) == (str,):
                options[key] = parsed.texts[key]
            else:
                _require_option(parsed.name, known, key, value)
        fitting = {key: value for key, value in context.items() if key in known}
        return cls(**fitting | options | self._subject(cls, parsed))

    def require(self, spec: str) -> None:
        """Refuse a spec whose name is unknown, without building anything."""
        self._class(parse_spec(spec).name)

    def describe(self, part: Part) -> str:
        """The spec that builds this part again, every option written out but an empty text."""
        cls = type(part)
        options = {key: getattr(part, key) for key in _hints(cls) if getattr(part, key) != ""}
        subject = _subject_of(cls)
        first = str(options[subject]) if subject else ""
        if self._is_found(first) and self._class(first) is cls:
            name, first = first, ""
        else:
            name = self._listed_name(cls)
        if "=" not in first:  # bare, it would read as another option
            options.pop(subject, None)
            return str(Spec(name, options, first))
        return str(Spec(name, options))

    def summary(self, name: str) -> str:
        """One line that says what a part is: the first of its docstring."""
        return (inspect.getdoc(self._class(name)) or "").partition("\n")[0]

    def defaults(self, name: str) -> dict[str, Option]:
        """The options of a part that can be left out, and what they are then."""
        cls = self._class(name)
        parameters = inspect.signature(cls).parameters.items()
        return {key: option.default for key, option in parameters if key != _subject_of(cls)}

    def usage(self, name: str) -> str:
        """A spec of this part with all options at their defaults."""
        bare = "" if self._is_found(name) else _subject_of(self._class(name)).upper()
        options = {key: value for key, value in self.defaults(name).items() if value != ""}
        return str(Spec(name, options, bare))

    def _listed_name(self, cls: type[Part]) -> str:
        # Ours first: looking for plug-ins reads the metadata of every installed package.
        names = (name for source in (self._builtin.keys, self._plugins) for name in source())
        name = next((n for n in names if self._class(n) is cls), None)
        if name is None:
            raise SpecError(f"{cls.__name__} is not a known {self.kind}")
        return name

    def _subject(self, cls: type[Part], spec: Spec) -> dict[str, str]:
        """The argument that the part is about, as the spec gives it."""
        subject = _subject_of(cls)
        found = self._is_found(spec.name)
        if spec.first and (found or not subject or subject in spec.options):
            raise SpecError(
                f"cannot read {spec.first!r} in {str(spec)!r}: write name:key=value,key=value"
            )
        if found or spec.first:
            return {subject: spec.name if found else spec.first}
        if subject and subject not in spec.options:
            raise SpecError(f"{spec.name} needs its {subject}: write {self.usage(spec.name)}")
        return {}

    def _is_found(self, name: str) -> bool:
        return name not in self._builtin and name in self._found()

    def _class(self, name: str) -> type[Part]:
        targets = self._targets(name)
        if name not in targets:
            obtainable = self._obtainable()
            if name in obtainable:
                raise SpecError(f"the {self.kind} {name} is not here: {obtainable[name]}")
            close = suggestion(name, {*self.names(), *obtainable})
            raise SpecError(f"unknown {self.kind} {name!r}: {close}")
        module, _, attribute = targets[name].partition(":")
        return typing.cast(type[Part], getattr(import_module(module), attribute))

    def _targets(self, name: str) -> Mapping[str, str]:
        """The first source that may have this name; looking for plug-ins takes longest."""
        if name in self._builtin:
            return self._builtin
        return self._found() if self._is_found(name) else self._plugins()

    def _plugins(self) -> dict[str, str]:
        return {point.name: point.value for point in entry_points(group=f"robocle.{self.kind}s")}


def _subject_of(cls: type[Any]) -> str:
    """The name of the constructor's argument that has no default, or nothing."""
    needed = [
        key
        for key, option in inspect.signature(cls).parameters.items()
        if option.default is option.empty and option.kind is option.POSITIONAL_OR_KEYWORD
    ]
    return needed[0] if needed else ""


def _hints(cls: type[Any]) -> dict[str, Any]:
    """The constructor's options and their types."""
    return {
        key: hint
        for key, hint in typing.get_type_hints(cls.__init__).items()
        if key in inspect.signature(cls).parameters
    }


def _accepted_types(hint: Any) -> tuple[Any, ...]:
    """Return the types of the values that a hint accepts; Literal["a", "b"] accepts a str.

    Whether the text is one of the choices is checked by the constructor, with require_choice.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return tuple(dict.fromkeys(kind for each in arguments for kind in _accepted_types(each)))
    if origin is typing.Literal:
        return tuple(dict.fromkeys(type(choice) for choice in arguments))
    return (hint,)


def _require_option(name: str, known: Mapping[str, Any], key: str, value: Option) -> None:
    if key not in known:
        options = suggestion(key, known) if known else "it has no options"
        raise SpecError(f"{name} has no option {key!r}: {options}")
    accepted = _accepted_types(known[key])
    if not (isinstance(value, accepted) or (float in accepted and isinstance(value, int))):
        wanted = " or ".join(kind.__name__ for kind in accepted)
        raise SpecError(f"{key}={value} of {name} must be {wanted}")
