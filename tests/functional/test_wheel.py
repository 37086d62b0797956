"""The wheel alone: what is in it, and that its user can do what the README shows.

The wheel is installed into a new environment that holds only the packages that it requires, and
those that they require. So a command that needs an extra fails here.
"""

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from environments import run_in
from robocle.cli import main

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "robocle"


@pytest.mark.slow
def test_the_wheel_holds_the_package_its_data_and_its_licence_and_nothing_else(
    wheel: Path,
) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top.split("-")[0] for top in tops} == {"robocle"}
    assert not [name for name in names if name.split("/")[-1].startswith("test")]
    expected = {f"robocle/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.py")}
    expected |= {f"robocle/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.j2")}
    expected |= {f"robocle/{path.relative_to(ROOT)}" for path in ROOT.glob("experiments/*.toml")}
    assert expected <= names
    assert {"robocle/py.typed", "robocle/evaluation/paper_numbers.toml"} <= names
    pictures = [name for name in names if name.startswith("robocle/demo/home/")]
    assert len(pictures) == sum(path.is_file() for path in (PACKAGE / "demo/home").rglob("*"))
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    worlds = {f"robocle/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.safetensors")}
    assert worlds
    assert worlds <= names
    assert wheel.stat().st_size < 14e6  # pictures of the home 6 MB, worlds 8 MB


@pytest.mark.slow
def test_results_from_the_wheel_name_the_commit_that_it_was_built_from(
    program: Path, tmp_path: Path
) -> None:
    code = "from robocle.evaluation.results import origin; print(origin()['commit'])"
    done = run_in(tmp_path, program.with_name("python"), "-c", code)
    describe = ("git", "describe", "--always", "--abbrev=12", "--exclude=*")
    assert done.stdout.strip().rstrip("+") == run_in(ROOT, *describe).stdout.strip(), done.stderr


@pytest.mark.exhaustive
def test_the_demo_runs_from_the_wheel_and_writes_its_page(program: Path, tmp_path: Path) -> None:
    done = run_in(tmp_path, program, "demo")
    assert done.returncode == 0, done.stderr  # a busy machine prints its progress there
    rows = [line for line in done.stdout.splitlines() if line.startswith("robocle default")]
    assert len(rows) == 2  # the taught instances, and other instances
    clean, *_, mean = (float(cell) for cell in rows[0].split()[2:])
    assert clean > 90
    with Image.open(ROOT / "docs" / "demo.png") as screenshot:  # made by docs/screenshot.py
        assert float(screenshot.info["accuracy"]) == pytest.approx(mean, abs=0.3)
    page = (tmp_path / "robocle-demo.html").read_text("utf-8")
    assert page.count("data:image/jpeg") > 40
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)  # it needs no other file


@pytest.mark.slow
def test_every_command_has_a_help_from_the_wheel(program: Path, tmp_path: Path) -> None:
    for name in main.commands:
        done = run_in(tmp_path, program, name, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: robocle {name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("bench", "comparison"), "bench"),
        (("report", "results.jsonl"), "bench"),
        (("backbones", "add", "resnet18"), "export"),
    ],
    ids=["bench", "report", "backbones add"],
)
def test_what_needs_an_extra_says_in_one_line_how_to_install_it(
    arguments: tuple[str, ...], extra: str, program: Path, tmp_path: Path
) -> None:
    done = run_in(tmp_path, program, *arguments)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"pip install 'robocle[{extra}]'")


@pytest.mark.slow
def test_the_renderer_is_not_in_the_wheel_and_says_in_one_line_where_it_is(
    program: Path, tmp_path: Path
) -> None:
    done = run_in(tmp_path, program, "sim", "home")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith("part of the repository of robocle, where `pip install ./sim` installs it")
    assert "sim" not in run_in(tmp_path, program, "--help").stdout


@pytest.mark.slow
def test_no_message_names_a_page_that_only_a_checkout_has() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.is_file()]
    assert len(files) > 150
    named = [
        f"{path.name}: {text}"
        for path in files
        for text in message_texts(path)
        if re.search(r"\bdocs/|\w\.md\b|\bmake \w+\b.*`|CONTRIBUTING|README", text)
    ]
    assert named == []


def message_texts(path: Path) -> Iterator[str]:
    """Yield the texts in the code of a file that are not docstrings, and the help of commands."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and path.parent.name != "cli"
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in docstrings:
            assert isinstance(node, ast.Constant)
            yield str(node.value)
