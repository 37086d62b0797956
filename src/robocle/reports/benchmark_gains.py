"""What the methods of a benchmark gain over others: in one table, and on the whole.

The gains in a table stand beside the accuracies and FPS of the paper's table 6. The means over all
gains are those that the paper claims in its introduction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from robocle.evaluation.metrics import METRICS, mean, mean_step_gain
from robocle.evaluation.paper import paper_number
from robocle.reports.benchmark_accuracy import average_gains
from robocle.reports.benchmark_matrix import MatrixGain, matrix_gains
from robocle.reports.benchmark_records import (
    Record,
    by_backbone,
    by_method,
    by_study,
    first_value,
    gain_cell,
    grouped,
    mean_cell,
    paper_value,
    printed_gain,
)
from robocle.reports.tables import Cell, Row, Table
from robocle.spec import parse_spec

GAIN = (
    "room-aware relative gain, RARG: the percentage of the other method's errors that are gone; "
    "negative if there are more errors than before"
)
GAINS = {
    "gain, %": GAIN,
    "gain per step, points": "the gain in accuracy over the other method after each step, in "
    "percentage points, averaged over the steps",
    "FPS change, %": "by how much the test pictures per second differ from the other method's; "
    "both were timed in turn with AVG pooling, so other programs on the machine hardly matter",
}
"""The columns of the table of gains, and what they mean."""
MEASURED, CLAIMED = "measured", "paper's text"
OVERALL = {
    MEASURED: "the mean of the gains in the tables above",
    "paper's tables": "the mean of the gains that the paper's tables print for the same",
    CLAIMED: "the mean that the paper claims in its introduction, over all that it measured",
}
"""The columns of the tables of overall gains, and what they mean."""


FORMS = {"root": "root", "standardised": "as printed"}
"""The forms of `moments`, as the experiments of the paper's tables name them."""


def gain_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods with a gain down, kinds of gain across."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            methods = by_method(of_backbone)
            rows = tuple(
                Row(f"{method}, over {over}", tuple(_gains(methods[over], of_method)))
                for method, of_method in methods.items()
                if (over := of_method[0]["over"]) in methods
            )
            if rows:
                yield Table(f"{study}, {backbone}: gains", tuple(GAINS), rows)


def _gains(baseline: Sequence[Record], achieved: Sequence[Record]) -> Iterator[Cell | None]:
    printed = printed_gain(achieved[0], baseline[0])
    yield gain_cell(_metric(baseline, "accuracy"), _metric(achieved, "accuracy"), printed)
    yield mean_cell(_step_gains(baseline, achieved), paper_value(achieved[0], "per_step_gain"))
    yield mean_cell(_speed_changes(baseline, achieved), paper_value(achieved[0], "fps_change"))


def _metric(records: Sequence[Record], name: str) -> Cell | None:
    paper = paper_value(records[0], METRICS[name].paper)
    return mean_cell([first_value(record["result"], name) for record in records], paper)


def _step_gains(baseline: Sequence[Record], achieved: Sequence[Record]) -> list[float]:
    """Return the gain per step in points for each ordering that both methods were run on."""
    pairs = _paired(baseline, achieved, "per_step")
    return [mean_step_gain(one, two) for one, two in pairs if len(one) == len(two)]


def _speed_changes(baseline: Sequence[Record], achieved: Sequence[Record]) -> list[float]:
    """Return the change of FPS in percent for each ordering that both methods were run on."""
    pairs = _paired(baseline, achieved, "relative_speed")
    return [100 * (fast / slow - 1) for slow, fast in pairs]


def _paired(
    baseline: Sequence[Record], achieved: Sequence[Record], name: str
) -> Iterator[tuple[Any, Any]]:
    """Yield a metric of two methods for each ordering that both were run on."""
    before = {each["trial"]["seed"]: each["result"].get(name) for each in baseline}
    for each in achieved:
        one, two = before.get(each["trial"]["seed"]), each["result"].get(name)
        if one and two:
            yield one, two


def overall_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield the mean of all gains in tables 2, 3 and 4 of the paper, beside what it claims."""
    of_paper = [record for record in records if record["paper"].get("method")]
    tables = grouped(of_paper, lambda record: record["paper"].get("table"))
    if few_shots := tables.get("table2"):
        gains = [(*each, "") for each in average_gains(few_shots)]
        claim = paper_number("text", metric="rarg", dataset="avg", train="clean")
        yield from _overall("Mean gain on other-domain data", gains, claim)
    if corrupted := [*tables.get("table3", []), *tables.get("table4", [])]:
        claim = paper_number("text", metric="rarg", dataset="avg", test="avg_od")
        yield from _overall("Mean gain on corrupted pictures", matrix_gains(corrupted), claim)


def _overall(title: str, gains: Iterable[MatrixGain], claim: float | None) -> Iterator[Table]:
    kinds: dict[str, list[Cell]] = {}
    for record, gain, kind in gains:
        if record["paper"].get("method", "").startswith("robocle"):
            name = f"RobOCLe, {_form(record)}"
            kinds.setdefault(f"{name}, {kind}" if kind else name, []).append(gain)
    rows = [
        Row(f"{name}: mean of {len(cells)} gains", _overall_cells(cells, claim))
        for name, cells in kinds.items()
    ]
    if rows and all(row.cells[1] is None for row in rows):  # on other backbones than the paper's
        rows = [replace(row, cells=(row.cells[0], row.cells[2])) for row in rows]
    if rows:
        columns = tuple(OVERALL) if len(rows[0].cells) == len(OVERALL) else (MEASURED, CLAIMED)
        yield Table(f"{title}, %", columns, tuple(rows))


def _form(record: Record) -> str:
    """Return which reading of the paper's moments a method uses."""
    pooling: str = record["trial"]["pooling"]
    return FORMS.get(str(parse_spec(pooling).options.get("form")), pooling)


def _overall_cells(gains: Sequence[Cell], claim: float | None) -> tuple[Cell | None, ...]:
    printed = [gain.paper for gain in gains if gain.paper is not None]
    of_paper = Cell(mean(printed)) if len(printed) == len(gains) else None
    return Cell(mean([gain.mean for gain in gains])), of_paper, Cell(claim) if claim else None
