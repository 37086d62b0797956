"""Registries: the parts of one kind, by name.

Every part is registered by an import path "module:Class". The paths of built-in parts are in the
registry; those of plug-ins come from the entry point group "robocle.<kind>s". A part is imported
when it is built, so listing the names imports no part.

The first constructor argument without a default is the subject of a part. It can be given without
its key, as in "onnx:FILE". Names that are found on this machine, such as those of added backbones,
share one class, and the name is passed as its subject.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from robocle.errors import SpecError
from robocle.spec import Option, Spec, parse_spec, suggestion

Part = TypeVar("Part")
Targets = Callable[[], Mapping[str, str]]


class Registry(Generic[Part]):
    """The parts of one kind, by name."""

    def __init__(
        self,
        kind: str,
        builtin: Mapping[str, str],
        found: Targets = dict,
        obtainable: Targets = dict,
        advice: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Create a registry.

        Args:
            kind: What the parts are, such as "classifier".
            builtin: The import path of each name that comes with robocle.
            found: Returns the import path of each name found on this machine.
            obtainable: Returns, for each name that can be installed, the command that installs it.
            advice: Returns what to do about any other name that is not installed, or "".
        """
        self.kind = kind
        self._builtin = dict(builtin)
        self._found = found
        self._obtainable = obtainable
        self._advice = advice

    def __repr__(self) -> str:
        return f"<Registry of {self.kind}s: {', '.join(self.names())}>"

    def names(self) -> list[str]:
        """Return all names that can be built, the built-in ones first."""
        return list({**self._builtin, **self._found(), **self._plugins()})

    def builtin(self) -> list[str]:
        """Return the names that come with robocle."""
        return list(self._builtin)

    def build(self, spec: str, **context: Option) -> Part:
        """Build the part that a spec describes.

        Args:
            spec: The spec, such as "slda:scatter=exact".
            context: Values for options that the spec does not set. Options that the part does not
                have are ignored.

        Returns:
            The part.

        Raises:
            SpecError: The name or an option is unknown, or an option has an invalid value.
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
        """Raise SpecError if the name in a spec is unknown. The part is not built."""
        self._class(parse_spec(spec).name)

    def describe(self, part: Part) -> str:
        """Return the spec that rebuilds a part, with all options except empty strings.

        Raises:
            SpecError: The class of the part is not registered.
        """
        cls = type(part)
        options = {key: getattr(part, key) for key in _hints(cls) if getattr(part, key) != ""}
        subject = _subject_of(cls)
        first = str(options[subject]) if subject else ""
        if self._is_found(first) and self._class(first) is cls:
            name, first = first, ""
        else:
            name = self._listed_name(cls)
        if "=" not in first:  # without its key it would be parsed as another option
            options.pop(subject, None)
            return str(Spec(name, options, first))
        return str(Spec(name, options))

    def summary(self, name: str) -> str:
        """Return the first line of a part's docstring."""
        return (inspect.getdoc(self._class(name)) or "").partition("\n")[0]

    def defaults(self, name: str) -> dict[str, Option]:
        """Return the default value of each option of a part."""
        cls = self._class(name)
        parameters = inspect.signature(cls).parameters.items()
        return {key: option.default for key, option in parameters if key != _subject_of(cls)}

    def usage(self, name: str) -> str:
        """Return the spec of a part with all options at their defaults."""
        first = "" if self._is_found(name) else _subject_of(self._class(name)).upper()
        options = {key: value for key, value in self.defaults(name).items() if value != ""}
        return str(Spec(name, options, first))

    def _listed_name(self, cls: type[Part]) -> str:
        """Return the registered name of a class, without importing other built-in parts."""
        path = f"{cls.__module__}:{cls.__qualname__}"
        for name, target in self._builtin.items():
            if target == path:
                return name
        for name in self._plugins():  # the path of a plug-in may be that of a re-export
            if self._class(name) is cls:
                return name
        raise SpecError(f"{cls.__name__} is not a known {self.kind}")

    def _subject(self, cls: type[Part], spec: Spec) -> dict[str, str]:
        """Return the part's subject as a constructor argument; empty if it has none."""
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
                raise SpecError(f"the {self.kind} {name} is not installed: run {obtainable[name]}")
            if advice := self._advice(name):
                raise SpecError(f"the {self.kind} {name} is not installed: {advice}")
            close = suggestion(name, {*self.names(), *obtainable})
            raise SpecError(f"unknown {self.kind} {name!r}: {close}")
        return self._imported(name, targets[name])

    def _imported(self, name: str, path: str) -> type[Part]:
        module, _, attribute = path.partition(":")
        try:
            return typing.cast(type[Part], getattr(import_module(module), attribute))
        except (ImportError, AttributeError) as error:
            if name in self._builtin:
                raise
            raise SpecError(
                f"the plug-in {name!r} cannot be imported from {path} ({error}): check its entry "
                "point, or reinstall it"
            ) from error

    def _targets(self, name: str) -> Mapping[str, str]:
        """Return the import paths that may contain a name; plug-ins are slow to list."""
        if name in self._builtin:
            return self._builtin
        return self._found() if self._is_found(name) else self._plugins()

    def _plugins(self) -> dict[str, str]:
        from importlib.metadata import entry_points  # here, because it is slow to import

        return {point.name: point.value for point in entry_points(group=f"robocle.{self.kind}s")}


def _subject_of(cls: type[Any]) -> str:
    """Return the first constructor argument without a default, or "" if there is none."""
    needed = [
        key
        for key, option in inspect.signature(cls).parameters.items()
        if option.default is option.empty and option.kind is option.POSITIONAL_OR_KEYWORD
    ]
    return needed[0] if needed else ""


def _hints(cls: type[Any]) -> dict[str, Any]:
    """Return the constructor's options and their types."""
    return {
        key: hint
        for key, hint in typing.get_type_hints(cls.__init__).items()
        if key in inspect.signature(cls).parameters
    }


def _accepted_types(hint: Any) -> tuple[Any, ...]:
    """Return the types of the values that a type hint accepts; Literal["a", "b"] accepts a str.

    The constructor checks with require_choice whether the string is one of the choices.
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
