"""The fields of an experiment file: each is checked before anything uses it.

A TOML file may hold any value under any key. A wrong one is an error that names the key.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from robocle.errors import SpecError
from robocle.spec import suggestion

Record = TypeVar("Record")
LARGEST_SEED = 2**32 - 1


def record_of(cls: type[Record], table: object, what: str, readers: "Readers") -> Record:
    """Return a record with the values of a table.

    Args:
        cls: The dataclass of the record.
        table: The table as it was read.
        what: What the table is, for messages, such as "the study 'home'".
        readers: What reads each field.

    Raises:
        SpecError: The table lacks a field, has one that the record does not have, or one whose
            value is of the wrong type.
    """
    if not isinstance(table, Mapping):
        raise SpecError(f"{what} must be a table, not {table!r}")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise SpecError(f"{what} has the unknown key {key!r}: {suggestion(key, known)}")
    missing = [name for name, field in known.items() if name not in table and _required(field)]
    if missing:
        raise SpecError(f"{what} lacks {missing[0]}: give {missing[0]} = ...")
    return cls(**{key: readers[key](value, f"{key} of {what}") for key, value in table.items()})


Reader = Callable[[object, str], Any]
"""Returns a value in the form of the record. The second argument names it in messages."""
Readers = Mapping[str, Reader]


def text(value: object, name: str) -> str:
    """Return a text.

    Raises:
        SpecError: The value is not a text.
    """
    if not isinstance(value, str):
        raise SpecError(f"{name} must be text in quotes, not {value!r}")
    return value


def texts(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts.

    Raises:
        SpecError: The value is not a list of texts.
    """
    return tuple(text(each, f"each of {name}") for each in items(value, name))


def seeds(value: object, name: str) -> tuple[int, ...]:
    """Return a list of seeds.

    Raises:
        SpecError: The value is not a list of whole numbers from 0 to 2^32 - 1.
    """
    found: list[int] = []
    for each in items(value, name):
        if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each <= LARGEST_SEED:
            raise SpecError(f"each of {name} must be a whole number from 0 on, not {each!r}")
        found.append(each)
    return tuple(found)


def table_of_texts(value: object, name: str) -> dict[str, str]:
    """Return a table of texts.

    Raises:
        SpecError: The value is not a table of texts.
    """
    if not isinstance(value, Mapping):
        raise SpecError(f"{name} must be a table, not {value!r}")
    return {key: text(each, f"{key} in {name}") for key, each in value.items()}


def items(value: object, name: str) -> list[Any]:
    """Return a list.

    Raises:
        SpecError: The value is not a list.
    """
    if not isinstance(value, list):
        raise SpecError(f"{name} must be a list, not {value!r}")
    return value


def _required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING
