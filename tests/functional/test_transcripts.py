"""A reader follows README, tutorial and the page on export word for word, from the wheel."""

from pathlib import Path

import pytest

from robocle.backbones.model_folder import CACHE_VARIABLE
from transcript import Reader, Step, agrees, steps_of

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
# What a reader of each page has done before.
BEFORE = {
    "README.md": [],
    "docs/tutorial.md": [],
    "docs/export.md": [Step("command", "robocle demo --pictures pictures")],
}


@pytest.mark.slow
@pytest.mark.parametrize("page", BEFORE)
def test_a_page_can_be_followed_word_for_word(
    page: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))  # as on a new machine
    (tmp_path / "reader").mkdir()
    reader = Reader(tmp_path / "reader", program.parent)
    for step in BEFORE[page]:
        reader.do(step)
    steps = list(steps_of((ROOT / page).read_text("utf-8")))
    assert steps
    for step in steps:
        found = reader.do(step)
        if step.expected is not None:
            assert agrees(step.expected, found), f"{step.source}\nprints\n{found}"
    reader.close()


def test_the_tutorial_shows_the_commands_that_a_maker_needs() -> None:
    commands = [step.source for step in steps_of(TUTORIAL.read_text("utf-8"))]
    for name in (
        "demo",
        "teach",
        "predict",
        "inspect",
        "check",
        "rename",
        "forget",
        "undo",
        "redo",
        "merge",
    ):
        assert any(command.startswith(f"robocle {name} ") for command in commands)


def test_a_transcript_is_cut_into_steps() -> None:
    page = (
        "Text.\n\n```console\n$ one\nfirst\n$ two\n```\n\n"
        "```python\nprint(1)\n```\n\n```text\n1\n```\n"
        '```python title="a.py"\nsaved\n```\n\n    $ not this\n'
    )
    assert list(steps_of(page)) == [
        Step("command", "one", "first\n"),
        Step("command", "two", ""),
        Step("code", "print(1)\n", "1\n"),
        Step("file", "saved\n", title="a.py"),
    ]


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("a 0.50 b\n", "a 0.53 b\n", True),
        ("a 0.50 b\n", "a 0.61 b\n", False),
        ("5 labels\n", "6 labels\n", False),
        ("in ... s\ndone\n", "in 12 s\ndone\n", True),
        ("in ... s\ndone\n", "in 12 s\nfailed\n", False),
        ("mug\t1.00\n", "mug 1.00\n", False),
    ],
)
def test_outputs_agree_if_only_decimals_differ_a_little(
    expected: str, found: str, same: bool
) -> None:
    assert agrees(expected, found) == same
