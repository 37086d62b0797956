"""`robocle demo`: what it prints and the page it writes."""

import re
import sys
from pathlib import Path

import pytest

from command_line import run, run_subprocess
from robocle.demo.pictures import home_pictures


@pytest.mark.slow
def test_the_demo_prints_tables_and_writes_a_page_that_needs_no_other_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run_subprocess("demo", "--out", page)
    assert result.returncode == 0
    rows = [
        line for line in result.stdout.decode().splitlines() if line.startswith("robocle default")
    ]
    assert len(rows) == 2  # the taught instances, and other instances
    clean, *_, mean = (float(cell) for cell in rows[0].split()[2:])
    assert clean > 90
    assert mean > 60
    html = page.read_text("utf-8")
    assert html.count("<svg") == 2
    assert html.count("data:image/jpeg") > 40
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)


@pytest.mark.slow
def test_without_the_extra_the_demo_prints_its_tables_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [picture for picture in home_pictures() if picture.category in ("mug", "clock")]
    monkeypatch.setattr("robocle.demo.run.home_pictures", lambda: few)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = tmp_path / "page.html"
    result = run("demo", "--out", page)
    assert result.exit_code == 0
    assert result.stdout.count("robocle default") == 2
    assert result.stderr.startswith("robocle: no page was written: ")
    assert result.stderr.endswith("pip install 'robocle[bench]'\n")
    assert not page.exists()


def test_a_page_that_cannot_be_written_is_an_error_before_any_work(tmp_path: Path) -> None:
    for name, message in (("page.robocle", "ends in .html"), ("no/page.html", "no folder")):
        result = run("demo", "--out", tmp_path / name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert message in result.stderr
