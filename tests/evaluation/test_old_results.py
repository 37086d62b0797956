"""Results that earlier versions wrote can still be read and reported."""

import json
from pathlib import Path

from robocle.evaluation.metrics import METRICS
from robocle.evaluation.old_results import OPEN_SET, with_current_names
from robocle.evaluation.results import read_results

OLD = {
    "accuracy": {"test/clean": 76.5, "test/blur": 50.0},
    "milliseconds_to_look": 55.2,
    "milliseconds_to_learn": 0.3,
    "milliseconds_to_answer": 0.02,
    "state_bytes": 297_192,
    "examined": {
        "test/clean": {"auroc": None, "known_called_unknown": 2.0, "unknown_caught": None},
        "test/blur": {"auroc": 70.0, "known_called_unknown": 4.0, "unknown_caught": 60.0},
    },
    "labels": 29,
    "taught": 145,
    "asked": 986,
}
NOW = {
    "accuracy": {"test/clean": 76.5, "test/blur": 50.0},
    "milliseconds_to_embed": 55.2,
    "milliseconds_to_learn": 0.3,
    "milliseconds_to_predict": 0.02,
    "labels": 29,
    "pictures_taught": 145,
    "pictures_tested": 986,
    "state_megabytes": 0.297192,
    "auroc": {"test/clean": None, "test/blur": 70.0},
    "false_rejection_rate": {"test/clean": 2.0, "test/blur": 4.0},
    "unknown_detection_rate": {"test/clean": None, "test/blur": 60.0},
}


def test_an_old_result_gets_the_names_of_today() -> None:
    assert with_current_names(OLD) == NOW
    assert with_current_names(NOW) == NOW


def test_the_new_names_are_those_of_the_table_of_metrics() -> None:
    assert {*OPEN_SET.values(), "milliseconds_to_predict", "state_megabytes"} <= set(METRICS)


def test_old_lines_of_a_results_file_are_read_like_new_ones(tmp_path: Path) -> None:
    lines = [{"key": key, "trial": {}, "result": value} for key, value in (("a", OLD), ("b", NOW))]
    lines.append({"key": "c", "kind": "examples", "trial": {}, "result": {"taught": ["data:"]}})
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [record["result"] for record in read_results(path)] == [NOW, NOW, {"taught": ["data:"]}]
