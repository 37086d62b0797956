"""The numbers that the paper prints, for comparison with our results.

They are stored in `paper_numbers.toml`, in the layout of the paper's tables. A number is identified
by its coordinates; a coordinate that does not apply is "".
"""

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args


@dataclass(frozen=True, slots=True)
class PaperNumber:
    """A number of the paper and its coordinates."""

    value: float
    table: str
    """"table1" to "table6" in the paper's order, or "text"."""
    metric: str = "accuracy"
    """Such as "accuracy" and "rarg", both in percent."""
    method: str = ""
    """Such as "slda", or "robocle_slda" for SLDA on moments."""
    backbone: str = ""
    """torchvision's name, or "avg": the mean over the table's backbones."""
    dataset: str = ""
    """openloris, openloris_small, fsiol_5 or fsiol_10."""
    train: str = ""
    """The corruption of the taught pictures: clean, illum, geom, noise or all."""
    test: str = ""
    """The corruption of the test pictures, or "avg_od": the mean over those other than `train`."""
    pooling: str = ""
    """Such as "avg", "lp3", "rap10" or "moments"."""


@dataclass(frozen=True)
class PaperData:
    """How many classes are taught and how many pictures are tested on one of the paper's sets."""

    classes: int
    least: int
    most: int
    in_words: str


FULL_NAMES = {"openloris": "OpenLORIS-Object", "fsiol": "F-SIOL-310"}
"""The paper's data sets, by the names of their readers."""
FULL = PaperData(40, 10_000, 10**9, "40 classes and more than 10,000 test pictures")
PAPER_DATA = {
    "openloris": FULL,
    "openloris_small": FULL,
    "fsiol_5": PaperData(22, 459, 561, "22 classes and about 510 test pictures"),
    "fsiol_10": PaperData(22, 360, 440, "22 classes and about 400 test pictures"),
}
"""By the paper's name of a set. F-SIOL-310 may have a tenth more or fewer pictures."""
PRINTED_AS = {"blur": "noise", "all_blur": "all"}


def printed_as(corruption: str) -> str:
    """Return what the paper's tables call a corruption, which may be another reading of its text.

    Example:
        >>> printed_as("blur:low=0.1,high=0.5"), printed_as("geom")
        ('noise', 'geom')
    """
    return PRINTED_AS.get(corruption.partition(":")[0], corruption)


def other_data(dataset: str, classes: int, tested: int) -> str:
    """Return how data differ from a data set of the paper; "" if they may be the same.

    Args:
        dataset: The paper's name of the data set.
        classes: The number of taught classes.
        tested: The number of test pictures.

    Example:
        >>> other_data("fsiol_5", 22, 510)
        ''
        >>> other_data("openloris", 3, 120)[:49]
        "3 classes and 120 test pictures; the paper's data"
    """
    known = PAPER_DATA.get(dataset)
    if known is None or (classes == known.classes and known.least <= tested <= known.most):
        return ""
    return f"{classes} classes and {tested} test pictures; the paper's data have {known.in_words}"


PaperTable = Literal["table1", "table2", "table3", "table4", "table5", "table6"]
PAPER_TABLES: tuple[PaperTable, ...] = get_args(PaperTable)
COORDINATES = tuple(field.name for field in fields(PaperNumber) if field.name != "value")


@cache
def paper_numbers() -> tuple[PaperNumber, ...]:
    """Return all numbers in the paper's order; one printed for two methods appears twice."""
    text = files("robocle.evaluation").joinpath("paper_numbers.toml").read_text("utf-8")
    return tuple(_read(tomllib.loads(text)))


@cache
def paper_backbones(table: str) -> frozenset[str]:
    """Return the backbones of a table, which its averages are over.

    Example:
        >>> sorted(paper_backbones("table3"))
        ['resnet152', 'vit_l_16']
    """
    named = {number.backbone for number in paper_numbers() if number.table == table}
    return frozenset(named - {"avg", ""})


def paper_number(table: str, *, metric: str = "accuracy", **coordinates: str) -> float | None:
    """Return the number of a table at some coordinates.

    Args:
        table: "table1" to "table6", or "text".
        metric: Such as "accuracy" or "rarg".
        coordinates: As many coordinates as are needed to identify one number.

    Returns:
        The number, or None where the paper has none.

    Raises:
        LookupError: Several numbers have these coordinates.
        TypeError: There is no such coordinate.

    Example:
        >>> paper_number("table1", method="slda", backbone="resnet18")
        95.01
        >>> paper_number("table3", method="ncm", backbone="resnet152", train="geom", test="all")
        19.67
        >>> paper_number("table5", pooling="cls", backbone="resnet50") is None
        True
    """
    if unknown := coordinates.keys() - set(COORDINATES):
        raise TypeError(f"{min(unknown)!r} is not one of {', '.join(COORDINATES)}")
    wanted = {"metric": metric, **coordinates}
    found = [
        number
        for number in paper_numbers()
        if number.table == table
        and all(getattr(number, name) == place for name, place in wanted.items())
    ]
    if len(found) > 1:
        given = ", ".join(f"{name} {place}" for name, place in wanted.items())
        raise LookupError(
            f"{len(found)} numbers of {table} have {given}: also give {_distinguished_by(found)}"
        )
    return found[0].value if found else None


def _distinguished_by(found: Sequence[PaperNumber]) -> str:
    apart = [name for name in COORDINATES if len({getattr(each, name) for each in found}) > 1]
    return " or ".join(apart)


def _read(paper: dict[str, Any]) -> Iterator[PaperNumber]:
    claims = paper.pop("text")
    for name, table in paper.items():
        yield from _read_table(name, table)
    for claim in claims:
        for method in claim["about"].get("method", "").split("/"):
            yield _number(claim["value"], {"table": "text", **claim["about"], "method": method})


def _read_table(name: str, table: dict[str, Any]) -> Iterator[PaperNumber]:
    columns = [
        dict(zip(table["columns"], places, strict=True))
        for places in zip(*table["columns"].values(), strict=True)
    ]
    for row, values in _rows(table["numbers"], table["levels"]):
        for column, value in zip(columns[: len(values)], values, strict=True):
            place = {"table": name, **table["about"], **row, **column}
            if not math.isnan(value):
                for method in place["method"].split("/"):
                    yield _number(value, {**place, "method": method})


def _rows(
    numbers: dict[str, Any], levels: Sequence[str]
) -> Iterator[tuple[dict[str, str], list[float]]]:
    for name, below in numbers.items():
        if len(levels) == 1:
            yield {levels[0]: name}, below
        else:
            for row, values in _rows(below, levels[1:]):
                yield {levels[0]: name, **row}, values


def _number(value: float, place: dict[str, str]) -> PaperNumber:
    method = place.get("method", "")
    usual = "moments" if method.startswith("robocle") else "avg" if method else ""
    return PaperNumber(value, **{"pooling": usual, **place})
