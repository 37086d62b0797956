"""Results files: what may be averaged, what is left out, and what a reader is told about it."""

from pathlib import Path
from typing import Any

import pytest

from benchmark_results import ORIGIN, record, written
from robocle.evaluation.results import Place, newest_results, read_results, show_again
from robocle.reports.benchmark import as_html, as_latex, as_markdown, build_report
from robocle.reports.tables import Cell


def run(accuracies: list[float], time: str, code: str = "aaaa", **trial: Any) -> list[Any]:
    """One result per ordering of NCM."""
    made = []
    for seed, accuracy in enumerate(accuracies):
        each = record("NCM", accuracy, seed, time=time, key=f"{time}{code}{seed}{trial}")
        each["trial"] |= trial
        made.append(each | {"revision": {"code": code, "world": ""}})
    return made


def accuracy_in(results: Path) -> Cell | None:
    return build_report(results).tables[0].rows[0].cells[0]


def test_results_of_changed_code_are_not_averaged_with_older_ones(tmp_path: Path) -> None:
    records = [*run([100.0, 78.8], "2026-01-01"), *run([0.0, 0.0], "2026-01-02", code="bbbb")]
    results = written(tmp_path / "results.jsonl", records)
    assert accuracy_in(results) == Cell(0.0, 0.0)
    report = build_report(results)
    line = (
        "2 older results are not shown, which differ from the newest in code (aaaa, now bbbb): NCM"
    )
    assert report.notes == (line,)
    assert report.trials == 2
    for page in (as_markdown(report), as_latex(report), as_html(report)):
        assert line in page


@pytest.mark.parametrize(
    "changed",
    [
        {"classifier": "ncm:metric=cosine"},
        {"pooling": "max"},
        {"views": "flip"},
        {"prediction_views": "flip"},
        {"tested": ["clean", "noise"]},
        {"corruption_seed": 1},
    ],
)
def test_options_changed_under_the_same_name_are_another_method(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    before: dict[str, Any] = {
        "classifier": "ncm",
        "pooling": "avg",
        "views": "plain",
        "corruption_seed": 0,
    }
    old = run([90.0, 92.0], "2026-01-01", **before)
    new = run([10.0, 12.0], "2026-01-02", **(before | changed))
    results = written(tmp_path / "results.jsonl", [*old, *new])
    shown = accuracy_in(results)
    assert shown is not None
    assert shown.mean == 11.0
    ((name, value),) = changed.items()
    assert f"{name} (" in build_report(results).notes[0]
    assert f"now {value})" in build_report(results).notes[0]


def test_the_newest_results_are_shown_wherever_they_stand_in_the_file(tmp_path: Path) -> None:
    records = [*run([50.0], "2026-01-02", code="bbbb"), *run([100.0] * 5, "2026-01-01")]
    assert accuracy_in(written(tmp_path / "results.jsonl", records)) == Cell(50.0)


def old(commit: str, accuracies: list[float], time: str) -> list[Any]:
    """Results of a version that recorded no revision."""
    made = run(accuracies, time, code=commit)
    for each in made:
        del each["revision"]
        each["origin"] = ORIGIN | {"commit": commit}
    return made


def test_results_without_a_revision_are_shown_as_they_are(tmp_path: Path) -> None:
    """A long run may go on after a commit that changed something else."""
    first, second, third = old("1111", [90.0, 92.0, 94.0], "2026-01-01")
    third["origin"] = ORIGIN | {"commit": "2222"}
    results = written(tmp_path / "results.jsonl", [first, second, third])
    assert accuracy_in(results) == Cell(92.0, 2.0)
    assert build_report(results).notes == ()


def test_repeated_results_without_a_revision_are_told_apart_by_their_commit(tmp_path: Path) -> None:
    records = [*old("1111", [90.0, 92.0, 94.0], "2026-01-01"), *old("2222", [10.0], "2026-01-02")]
    results = written(tmp_path / "results.jsonl", records)
    assert accuracy_in(results) == Cell(10.0)
    assert build_report(results).notes[0].endswith("in commit (1111, now 2222): NCM")


def test_results_with_a_revision_replace_those_without(tmp_path: Path) -> None:
    records = [*old("1111", [90.0, 92.0], "2026-01-01"), *run([10.0], "2026-01-02")]
    shown, lines = newest_results(written(tmp_path / "results.jsonl", records))
    assert [each["time"] for each in shown] == ["2026-01-02"]
    assert "code (not recorded, now aaaa)" in lines[0]


def test_one_line_tells_of_all_methods_with_the_same_difference(tmp_path: Path) -> None:
    records = [*run([90.0], "2026-01-01"), *run([10.0], "2026-01-02", code="bbbb")]
    others = [each | {"method": "SLDA", "key": f"SLDA{each['key']}"} for each in records]
    _, lines = newest_results(written(tmp_path / "results.jsonl", [*records, *others]))
    assert [line.rpartition(": ")[2] for line in lines] == ["NCM, SLDA"]


def test_results_of_what_was_changed_back_are_shown_again(tmp_path: Path) -> None:
    """Nothing is run then: the trials have results, but newer ones replaced them."""
    first = run([90.0, 92.0], "2026-01-01")
    results = written(tmp_path / "results.jsonl", [*first, *run([10.0], "2026-01-02", code="bbbb")])
    assert accuracy_in(results) == Cell(10.0)
    place = Place("An experiment", "OpenLORIS-small", "NCM", shows=("accuracy",))
    show_again(results, {each["key"]: place for each in first})
    shown = accuracy_in(results)
    assert shown is not None
    assert shown.mean == 91.0
    assert "code (bbbb, now aaaa)" in build_report(results).notes[0]
    before = results.read_bytes()
    show_again(results, {each["key"]: place for each in first})
    assert results.read_bytes() == before
    assert len(read_results(results)) == 3
