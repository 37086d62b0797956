"""Keys: whatever decides a result or an embedding is in its key, and nothing else."""

from robocle.evaluation.keys import imported_by, key

RUN_TRIAL = "robocle.evaluation.run_trial"


def test_a_key_depends_on_where_its_facts_begin_and_on_their_types() -> None:
    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key(1), key("1"), key([1])}) == 6
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1})


def test_the_code_that_decides_a_trial_is_found_by_its_imports() -> None:
    found = set(imported_by([RUN_TRIAL]))
    assert {
        "robocle.backbones.world",
        "robocle.evaluation.datasets",
        "robocle.evaluation.metrics.recognition",
        "robocle.evaluation.scenarios",
        "robocle.images.boxes",
        "robocle.images.reading",
        "robocle.learner.pipeline",
        "robocle.recognition.decision",
    } <= found
    assert not {"robocle.errors", "robocle.evaluation.results"} & found
    assert not [name for name in found if name.startswith(("robocle.reports", "robocle.cli"))]


def test_modules_inside_a_module_that_is_left_out_do_not_count() -> None:
    found = imported_by([RUN_TRIAL], without=["robocle.recognition"])
    assert "robocle.recognition.decision" not in found
    assert "robocle.learner.pipeline" in found
