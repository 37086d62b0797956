"""Tables: results set out as the paper sets them out, its numbers beside ours.

A table is headers and rows of plain cells; how it looks in Markdown, LaTeX or HTML is the report's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from robocle.evaluation.metrics import room_aware_gain
from robocle.evaluation.paper import paper_number

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A figure: its mean over the orderings, their deviation, and the paper's figure."""

    mean: float
    deviation: float | None = None
    paper: float | None = None


@dataclass(frozen=True)
class Table:
    """A title, column headers, and rows that begin with a name."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


def grouped(records: Iterable[Record], name: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Records by a name of theirs, in the order of appearance."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    return groups


def by_study(records: Sequence[Record], *, together: bool = False) -> dict[str, list[Record]]:
    """Records of one study, data and streams, and, unless together, of one taught corruption.

    Nothing else may be averaged: what differs is told in the name.
    """

    def parts(record: Record) -> tuple[str, ...]:
        trial = record["trial"]
        told = (record["study"], trial["dataset"], trial["scenario"], trial["data"])
        return told if together else (*told, f"taught {trial['taught']}")

    groups = grouped(records, parts)
    differing = [len(set(column)) > 1 for column in zip(*groups, strict=True)]
    return {
        ", ".join(
            [
                names[0],
                *(
                    name
                    for name, differs in zip(names[1:], differing[1:], strict=True)
                    if differs and name not in names[0]
                ),
            ]
        ): of_group
        for names, of_group in groups.items()
    }


def by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records by method."""
    return grouped(records, lambda record: record["method"])


def by_backbone(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records by backbone."""
    return grouped(records, lambda record: record["trial"]["backbone"])


def cell(values: Sequence[float | None], paper: float | None = None) -> Cell | None:
    """The mean and deviation over orderings; None where there is nothing."""
    known = [value for value in values if value is not None and value == value]
    if not known:
        return None
    return Cell(mean(known), stdev(known) if len(known) > 1 else None, paper)


def accuracy_tables(records: Sequence[Record]) -> Iterator[Table]:
    """A table a study: methods down, backbones and test sets across, gains below their method."""
    for study, of_study in by_study(records).items():
        columns = [
            (backbone, test)
            for backbone, of_backbone in by_backbone(of_study).items()
            for test in dict.fromkeys(t for r in of_backbone for t in r["result"]["accuracy"])
        ]
        heads = [f"{backbone} {_test_name(test, columns)}".strip() for backbone, test in columns]
        rows: list[tuple[str, tuple[Cell | None, ...]]] = []
        methods = by_method(of_study)
        found = {
            method: tuple(_accuracy(of_method, *column) for column in columns)
            for method, of_method in methods.items()
        }
        for method, of_method in methods.items():
            rows.append((method, found[method]))
            over = of_method[0]["over"]
            if over in found:
                rows.append((f"gain over {over}", _gains(found[over], found[method])))
        yield Table(f"{study}: accuracy, %", tuple(heads), tuple(rows))


def _test_name(test: str, columns: Sequence[tuple[str, str]]) -> str:
    """As much of "name/corruption" as tells the columns apart."""
    names, corruptions = zip(*(other.split("/") for _, other in columns), strict=True)
    name, corruption = test.split("/")
    told = [name] if len(set(names)) > 1 else []
    return "/".join([*told, corruption] if len(set(corruptions)) > 1 else told)


def _accuracy(records: Sequence[Record], backbone: str, test: str) -> Cell | None:
    of_backbone = [r for r in records if r["trial"]["backbone"] == backbone]
    if not of_backbone:
        return None
    values = [record["result"]["accuracy"].get(test) for record in of_backbone]
    first = test == next(iter(of_backbone[0]["result"]["accuracy"]))
    return cell(values, paper_value(of_backbone[0]) if first else None)


def _gains(first: Sequence[Cell | None], second: Sequence[Cell | None]) -> tuple[Cell | None, ...]:
    return tuple(_gain(a, b) if a and b else None for a, b in zip(first, second, strict=True))


def _gain(first: Cell, second: Cell) -> Cell | None:
    """The room-aware gain of means; none where there was no room."""
    printed = None
    if first.paper is not None and second.paper is not None:
        printed = room_aware_gain(first.paper, second.paper)
    return cell([room_aware_gain(first.mean, second.mean)], printed)


def paper_value(record: Record, **more: str) -> float | None:
    """What the paper prints where this result stands, if it is one of the paper's."""
    paper = dict(record["paper"])
    if not paper:
        return None
    table = paper.pop("table")
    return paper_number(table, backbone=record["trial"]["backbone"], **paper, **more)


METRICS = {
    "accuracy, %": (lambda r: next(iter(r["accuracy"].values())), "accuracy"),
    "macro accuracy, %": (lambda r: next(iter(r["macro_accuracy"].values())), ""),
    "backward transfer": (lambda r: r.get("backward_transfer"), ""),
    "forgetting": (lambda r: r.get("forgetting"), ""),
    "plasticity": (lambda r: r.get("plasticity"), "pla"),
    "BwT as printed": (lambda r: r.get("paper_bwt"), "bwt"),
    "Forg as printed": (lambda r: r.get("paper_forg"), "forg"),
    "TTime, min": (lambda r: r["training_minutes"], "ttime"),
    "FPS": (lambda r: r["frames_per_second"], "fps"),
    "state, MB": (lambda r: r["state_bytes"] / 1e6, ""),
}


def metric_tables(records: Sequence[Record]) -> Iterator[Table]:
    """A table a study and backbone: methods down, all metrics across."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            rows = tuple(
                (method, tuple(_metric(of_method, *METRICS[name]) for name in METRICS))
                for method, of_method in by_method(of_backbone).items()
            )
            yield Table(f"{study}, {backbone}: metrics", tuple(METRICS), rows)


def _metric(
    records: Sequence[Record], pick: Callable[[Record], float | None], printed: str
) -> Cell | None:
    paper = paper_value(records[0], metric=printed) if printed else None
    return cell([pick(record["result"]) for record in records], paper)


MEASURED = {
    "AUROC, %": "auroc",
    "unknown caught, %": "unknown_caught",
    "known called unknown, %": "known_called_unknown",
    "ECE, %": "calibration_error",
}


def unknown_tables(records: Sequence[Record]) -> Iterator[Table]:
    """A table a study and backbone: methods down; known against unknown things across."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            several = len(of_backbone[0]["result"]["examined"]) > 1
            tests = ("", " elsewhere") if several else ("",)
            columns = [(name, key, test) for name, key in MEASURED.items() for test in tests]
            rows = tuple(
                (method, tuple(_measured(of_method, key, test) for _, key, test in columns))
                for method, of_method in by_method(of_backbone).items()
            )
            heads = tuple(name.replace(",", f"{test},") for name, _, test in columns)
            yield Table(f"{study}, {backbone}: known or unknown", heads, rows)


def _measured(records: Sequence[Record], key: str, test: str) -> Cell | None:
    """A figure of the first test, or, elsewhere, the mean over all others."""
    values: list[float | None] = []
    for record in records:
        first, *others = (measured[key] for measured in record["result"]["examined"].values())
        told = [value for value in others if value is not None] if test else [first]
        values.append(mean(told) if told and None not in told else None)
    return cell(values)


def matrix_tables(records: Sequence[Record]) -> Iterator[Table]:
    """A table a study, backbone and method: taught corruption down, tested across."""
    for study, of_study in by_study(records, together=True).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            for method, of_method in by_method(of_backbone).items():
                by_taught = grouped(of_method, lambda r: r["trial"]["taught"])
                tested = of_method[0]["trial"]["tested"]
                rows = tuple(
                    (taught, tuple(_matrix_row(of_taught, tested)))
                    for taught, of_taught in by_taught.items()
                )
                title = f"{study}, {backbone}, {method}: taught down, tested across, accuracy, %"
                yield Table(title, (*tested, "Avg OD"), rows)


def _matrix_row(records: Sequence[Record], tested: Sequence[str]) -> Iterator[Cell | None]:
    taught = records[0]["trial"]["taught"]
    for corruption in tested:
        values = [_of_corruption(record, corruption) for record in records]
        yield cell(values, paper_value(records[0], train=taught, test=corruption))
    other = [record["result"]["average_other_domain"] for record in records]
    yield cell(other, paper_value(records[0], train=taught, test="avg_od"))


def _of_corruption(record: Record, corruption: str) -> float | None:
    accuracy: dict[str, float] = record["result"]["accuracy"]
    return next((v for test, v in accuracy.items() if test.split("/")[1] == corruption), None)
