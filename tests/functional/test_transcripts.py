"""A reader follows README, tutorial and the page on export word for word, from the wheel."""

from pathlib import Path

import pytest

from robocle.backbones.model_folder import CACHE_VARIABLE
from transcript import Reader, agrees, prepare, steps_of

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", "docs/export.md"])
def test_a_page_can_be_followed_word_for_word(
    page: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))  # as on a new machine
    (tmp_path / "reader").mkdir()
    reader = Reader(tmp_path / "reader", program.parent)
    text = (ROOT / page).read_text("utf-8")
    prepare(text, reader)
    steps = list(steps_of(text))
    assert steps
    for step in steps:
        found = reader.do(step)
        if step.expected is not None:
            assert agrees(step.expected, found), f"{step.source}\nprints\n{found}"
    reader.close()


def test_an_output_may_differ_in_decimals_and_where_the_page_leaves_something_out() -> None:
    page = "Text.\n\n```console\n$ one\na 0.50 in ... s\n$ two\n```\n\n    $ not this\n"
    assert [(each.source, each.expected) for each in steps_of(page)] == [
        ("one", "a 0.50 in ... s\n"),
        ("two", ""),
    ]
    assert agrees("a 0.50 in ... s\n", "a 0.51 in 12 s\n")
    for other in ("a 0.53 in 12 s\n", "b 0.50 in 12 s\n", "a 0.50 in 12 s\nmore\n", ""):
        assert not agrees("a 0.50 in ... s\n", other)
    assert not agrees("5 labels\n", "6 labels\n")
