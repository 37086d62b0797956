"""Labels: one label per name, however it is typed; a wrong one is corrected."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import counts_of, run
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import LabelError, UnknownLabelError
from stub_backbone import STUB, embedding

COMPOSED = "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
DECOMPOSED = "cafe\N{COMBINING ACUTE ACCENT}"


def taught(*labels: str) -> Learner:
    learner = Learner(STUB, pooling="avg", classifier="ncm")
    for number, label in enumerate(labels):
        learner.teach_embedding(embedding(number, 8), label)
    return learner


@pytest.mark.parametrize("label", [DECOMPOSED, COMPOSED, f" {COMPOSED}\t\n", f"\u00a0{DECOMPOSED}"])
def test_all_spellings_that_look_the_same_are_one_label(label: str) -> None:
    learner = taught(COMPOSED, label)
    assert learner.counts == {COMPOSED: 2}
    assert learner.last_embedding(label) is not None
    learner.rename(label, " mug ")
    assert learner.labels == ("mug",)
    learner.rename("mug", label)
    assert learner.labels == (COMPOSED,)
    learner.forget(label)
    assert not learner.labels


def test_labels_of_many_pictures_are_normalised(lite0: Backbone, objects: Path) -> None:
    """The file systems of some systems decompose the names of folders."""
    learner = Learner(lite0, pooling="avg", classifier="ncm", views="plain")
    learner.teach_many([objects / "ball/0.jpg"] * 2, [COMPOSED, f"{DECOMPOSED} "])
    assert learner.counts == {COMPOSED: 2}


@pytest.mark.parametrize("label", ["unknown", "Unknown", " UNKNOWN "])
def test_an_object_cannot_be_renamed_to_unknown(label: str, refusal: Refusal) -> None:
    learner = taught("mug")
    assert refusal(LabelError, lambda: learner.rename("mug", label)) == (
        "'unknown' is what is printed for objects that were not taught: choose another name"
    )
    assert learner.counts == {"mug": 1}


@pytest.mark.parametrize("label", ["mug\u200b", "m\u00adug", "tea\u00a0cup", "a\nb", "\u202emug"])
def test_invisible_characters_are_refused(label: str, refusal: Refusal) -> None:
    assert "invisible characters" in refusal(LabelError, lambda: taught(label))


@pytest.mark.parametrize("label", ["caf\ufffd", "\udce9t\udce9"])
def test_what_stands_for_other_encodings_is_refused(label: str, refusal: Refusal) -> None:
    said = refusal(LabelError, lambda: taught(label))
    assert said == f"the label {label!r} is not valid UTF-8: write it as UTF-8"
    assert refusal(LabelError, lambda: taught("mug").rename("mug", label)) == said


def test_a_label_that_was_never_taught_is_answered_with_the_labels_there_are(
    refusal: Refusal,
) -> None:
    learner = taught("bike", "MUG", "box")
    assert refusal(UnknownLabelError, lambda: learner.forget("bik")) == (
        "the label 'bik' was never taught: did you mean 'bike'? (known: MUG, bike, box)"
    )
    assert "did you mean 'MUG'?" in refusal(UnknownLabelError, lambda: learner.rename("mug", "x"))
    assert refusal(UnknownLabelError, lambda: learner.forget("sofa")) == (
        "the label 'sofa' was never taught; known: MUG, bike, box"
    )
    many = taught(*(f"object {number:02}" for number in range(40)))
    message = refusal(UnknownLabelError, lambda: many.forget("zebra"))
    assert message.endswith("known: " + ", ".join(many.labels[:10]) + " and 30 others")
    assert refusal(UnknownLabelError, lambda: taught().forget("mug")) == (
        "the label 'mug' was never taught; nothing has been taught yet"
    )


# ---- on the command line


def test_a_new_label_that_differs_in_case_only_is_pointed_out(
    objects: Path, tmp_path: Path
) -> None:
    state, picture = tmp_path / "home.robocle", objects / "ball" / "0.jpg"
    assert run("teach", state, "mug", picture, "--poor", "accept").stderr == ""
    result = run("teach", state, "Mug", picture, "--poor", "accept")
    assert (result.exit_code, counts_of(state)) == (0, {"mug": 1, "Mug": 1})
    joins = f"`robocle rename {state} Mug mug` joins them"
    assert result.stderr == f"robocle: 'Mug' and 'mug' are two labels: {joins}\n"
    assert run("teach", state, "Mug", picture, "--poor", "accept").stderr == ""


@pytest.mark.parametrize(("answer", "counts"), [("\n", {"mug": 2}), ("n\n", {"mug": 1, "Mug": 1})])
def test_on_a_terminal_the_user_chooses_the_spelling(
    answer: str, counts: dict[str, int], objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    run("teach", state, "mug", objects / "ball" / "0.jpg")
    keyboard, stdin = pty.openpty()
    os.write(keyboard, answer.encode())
    command = [sys.executable, "-m", "robocle", "teach", str(state), "Mug"]
    command.append(str(objects / "ball" / "1.jpg"))
    result = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=True)
    assert "there is a label 'mug': teach 'Mug' as 'mug'? [Y/n]" in result.stderr
    assert counts_of(state) == counts


def test_a_learner_warns_of_a_new_label_that_differs_in_case_only(
    lite0: Backbone, objects: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learner = Learner(lite0)
    for label, number in (("mug", 0), ("Mug", 1), ("Mug", 2)):
        learner.teach(objects / "ball" / f"{number}.jpg", label)
    assert caplog.messages == ["'Mug' and 'mug' are two labels: rename('Mug', 'mug') joins them"]
