"""What the methods of a benchmark gain over others: in one table, and on the whole.

The gains in a table stand beside the accuracies and FPS of the paper's table 6. The means over all
gains are those that the paper claims in its introduction.
"""

from collections.abc import Iterable, Iterator, Sequence

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

GAIN = (
    "room-aware relative gain, RARG: the percentage of the other method's errors that are gone; "
    "negative if there are more errors than before"
)
GAINS = {
    "gain, %": GAIN,
    "gain per step, points": "the gain in accuracy over the other method after each step, in "
    "percentage points, averaged over the steps",
    "FPS change, %": "by how much the test pictures per second differ from the other method's; "
    "times measured on a busy machine vary by more",
}
"""The columns of the table of gains, and what they mean."""
OVERALL = {
    "measured": "the mean of the gains in the tables above",
    "paper's tables": "the mean of the gains that the paper's tables print for the same",
    "paper's text": "the mean that the paper claims in its introduction",
}
"""The columns of the tables of overall gains, and what they mean."""


def gain_tables(records: Sequence[Record]) -> Iterator[Table]:
    """Yield one table per study and backbone: methods with a gain down, kinds of gain across."""
    for study, of_study in by_study(records).items():
        for backbone, of_backbone in by_backbone(of_study).items():
            methods = by_method(of_backbone)
            rows = tuple(
                Row(f"{method} over {over}", tuple(_gains(methods[over], of_method)))
                for method, of_method in methods.items()
                if (over := of_method[0]["over"]) in methods
            )
            if rows:
                yield Table(f"{study}, {backbone}: gains", tuple(GAINS), rows)


def _gains(baseline: Sequence[Record], achieved: Sequence[Record]) -> Iterator[Cell | None]:
    printed = printed_gain(achieved[0], baseline[0])
    yield gain_cell(_metric(baseline, "accuracy"), _metric(achieved, "accuracy"), printed)
    yield _gain_per_step(baseline, achieved)
    slow, fast = (_metric(each, "frames_per_second") for each in (baseline, achieved))
    paper = paper_value(achieved[0], "fps_change")
    yield Cell(100 * (fast.mean / slow.mean - 1), None, paper) if slow and fast else None


def _metric(records: Sequence[Record], name: str) -> Cell | None:
    paper = paper_value(records[0], METRICS[name].paper)
    return mean_cell([first_value(record["result"], name) for record in records], paper)


def _gain_per_step(baseline: Sequence[Record], achieved: Sequence[Record]) -> Cell | None:
    """Return the mean over the steps, of each ordering that both methods were run on."""
    steps = [
        {each["trial"]["seed"]: each["result"].get("per_step") or [] for each in records}
        for records in (baseline, achieved)
    ]
    before, after = steps
    pairs = [(before[seed], after[seed]) for seed in after if seed in before]
    gains = [mean_step_gain(one, two) for one, two in pairs if one and len(one) == len(two)]
    return mean_cell(gains, paper_value(achieved[0], "per_step_gain"))


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
            name = f"RobOCLe with {record['trial']['pooling']}"
            kinds.setdefault(f"{name}, {kind}" if kind else name, []).append(gain)
    rows = tuple(
        Row(f"{name}: mean of {len(cells)}", _overall_cells(cells, claim))
        for name, cells in kinds.items()
    )
    if rows:
        yield Table(f"{title}, %", tuple(OVERALL), rows)


def _overall_cells(gains: Sequence[Cell], claim: float | None) -> tuple[Cell | None, ...]:
    printed = [gain.paper for gain in gains if gain.paper is not None]
    of_paper = Cell(mean(printed)) if len(printed) == len(gains) else None
    return Cell(mean([gain.mean for gain in gains])), of_paper, Cell(claim) if claim else None
