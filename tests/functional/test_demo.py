"""`robocle demo`: what it prints and the page it writes."""

import sys
from html import escape
from pathlib import Path

import numpy as np
import pytest

from command_line import assert_refused, run
from robocle.backbones import Backbone
from robocle.demo import CONDITIONS, home_pictures
from robocle.demo.run import KINDS, METHODS, ROUNDS, run_open_set


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What the demo prints and its page, on three categories and without the extra `bench`."""
    few = [each for each in home_pictures() if each.category in ("mug", "clock", "spoon")]
    page = tmp_path_factory.mktemp("demo") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robocle.demo.run.home_pictures", lambda: few)
        for library in ("matplotlib", "joblib"):
            patch.setitem(sys.modules, library, None)
        result = run("demo", "--out", page)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout, page.read_text("utf-8")


@pytest.mark.slow
def test_the_demo_and_its_page_need_no_extra(small_demo: tuple[str, str]) -> None:
    printed, page = small_demo
    assert printed.count("robocle default") == 2
    assert page.startswith("<!doctype html>")


@pytest.mark.slow
def test_the_page_explains_its_rows_and_columns(small_demo: tuple[str, str]) -> None:
    _, page = small_demo
    for words in (*CONDITIONS.values(), *KINDS.values(), *(each.name for each in METHODS)):
        assert escape(words) in page
    assert "accuracy, %" in page
    assert "39 pictures of the objects that were taught" in page


@pytest.mark.slow
def test_the_demo_shows_unknown_objects(small_demo: tuple[str, str]) -> None:
    printed, page = small_demo
    rows = {
        words: [float(cell) for cell in line.removeprefix(words).split()]
        for words in KINDS.values()
        for line in printed.splitlines()
        if line.startswith(words)
    }
    assert set(rows) == set(KINDS.values())
    assert all(0 <= cell <= 100 for row in rows.values() for cell in row)
    assert rows[KINDS["not taught"]][-1] > rows[KINDS["taught"]][-1]
    assert "✓ unknown" in page


def test_each_object_is_unknown_in_one_round_and_taught_in_the_others(lite0: Backbone) -> None:
    pictures = [p for p in home_pictures() if p.category in ("mug", "clock", "spoon", "key")]
    rng = np.random.default_rng(0)
    embeddings = [rng.random((1, 12), np.float32) for _ in pictures]
    tests = run_open_set(lite0, pictures, embeddings)
    tested = [picture for picture in pictures if not picture.is_taught]
    assert len(tests) == ROUNDS * len(tested)
    unknown = [test.picture for test in tests if test.kind == "not taught"]
    assert sorted(unknown, key=str) == sorted(tested, key=str)
    taught = [test for test in tests if test.kind == "taught"]
    assert not any(test.picture.is_other_instance for test in taught)


def test_a_page_that_cannot_be_written_is_an_error_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine.html").write_text("my own page", "utf-8")
    for name, message in (
        ("page.robocle", "ends in .html"),
        ("no/page.html", "no folder"),
        ("mine.html", "mine.html exists and was not written by robocle: choose another name"),
    ):
        result = run("demo", "--out", tmp_path / name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert message in result.stderr


def test_a_few_pictures_to_try_robocle_with_are_written_to_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    result = run("demo", "--pictures", folder)
    assert result.stdout.startswith(f"wrote 55 pictures to {folder}\n")
    labels = sorted(path.name for path in (folder / "teach").iterdir())
    assert all(len(list((folder / "teach" / label).glob("*.jpg"))) == 5 for label in labels)
    tested = {path.name for path in (folder / "test").iterdir()}
    assert tested == {*labels, "chair"}
    assert not (tmp_path / "robocle-demo.html").exists()
    assert_refused(run("demo", "--pictures", folder), f"{folder} exists", "does not exist yet")


def test_pictures_that_cannot_be_written_are_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(run("demo", "--pictures", tmp_path / "file" / "pictures"), "cannot write")
