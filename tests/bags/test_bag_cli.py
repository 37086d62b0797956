"""The commands teach, recognise and evaluate a recording, and draw what was recognised when."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bright_detector import bright_detector
from command_line import error_of, run
from home_pictures import home_picture
from robocle import Learner, RobocleError
from robocle.bags import Bag, Tally, write_bag
from robocle.reports.recording import (
    label_table,
    plot_recording,
    require_plot_format,
    time_table,
)
from robocle.types import Example
from robocle_sim.openloris import Recording, render_openloris
from video_sources import write_video

pytestmark = pytest.mark.slow
TOPICS = ("--label-topic", "/label")


def test_a_bag_is_taught_by_its_label_topic_as_one_step(recording: Path, tmp_path: Path) -> None:
    state = tmp_path / "new.robocle"
    result = run("bag", "teach", state, recording, *TOPICS, "--every", "0.2")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("taught 16 frames of mug (8), clock (4), umbrella (4); ")
    learner = Learner.load(state)
    assert learner.counts == {"mug": 8, "clock": 4, "umbrella": 4}
    assert learner.predict(home_picture("clean/clock_01/7")).label == "clock"
    assert run("undo", state).exit_code == 0
    assert Learner.load(state).labels == ()


def test_intervals_and_limits_choose_what_is_taught(recording: Path, tmp_path: Path) -> None:
    intervals = tmp_path / "intervals.csv"
    intervals.write_text("0,0.8,cup\n0.8,1.6,watch\n", "utf-8")
    state = tmp_path / "new.robocle"
    arguments = ("--intervals", intervals, "--every", "0", "--most", "3", "--poor", "skip")
    result = run("bag", "teach", state, recording, *arguments)
    assert result.exit_code == 0, result.output
    assert Learner.load(state).counts == {"cup": 3, "watch": 3}


def test_frames_are_recognised_with_their_time(state: Path, recording: Path) -> None:
    result = run("bag", "predict", state, recording)
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[0] for line in lines] == [f"{n / 10:.2f}" for n in range(32)]
    assert [line[1] for line in lines[:8]] == ["mug"] * 8
    assert [line[1] for line in lines[8:16]] == ["clock"] * 8
    found = [
        json.loads(line)
        for line in run("bag", "predict", state, recording, "--json").stdout.splitlines()
    ]
    unknown = [number for number, each in enumerate(found) if each["verdict"] == "unknown"]
    assert unknown  # their number is the probability that they were not taught
    for number in unknown:
        assert lines[number][1:3] == ["unknown", f"{found[number]['unknown_probability']:.2f}"]
    found = run("bag", "predict", state, recording, "--json", "--every", "0.5").stdout.splitlines()
    assert [json.loads(line)["seconds"] for line in found] == pytest.approx(
        [0.5 * n for n in range(7)]
    )


def test_an_evaluation_counts_per_label_and_over_time_and_draws(
    state: Path, recording: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.png"
    result = run("bag", "evaluate", state, recording, *TOPICS, "--plot", plot)
    assert result.exit_code == 0, result.output
    assert "umbrella (not taught)" in result.stdout
    assert "2.9 to 3.1 s" in result.stdout
    with Image.open(plot) as drawing:
        assert drawing.width > 800
    values = json.loads(
        run("bag", "evaluate", state, recording, *TOPICS, "--json").stdout.splitlines()[0]
    )
    assert values["frames"] == 32
    assert values["labels"]["clock"]["right"] == 8
    assert values["labels"]["umbrella"]["taught"] is False
    assert values["labels"]["umbrella"]["right"] == values["labels"]["umbrella"]["unknown"]
    assert sum(part["frames"] for part in values["parts"]) == 32


def test_bad_arguments_are_one_line(state: Path, recording: Path, tmp_path: Path) -> None:
    assert "--label-topic" in run("bag", "evaluate", state, recording).stderr
    assert "/nothing" in error_of("bag", "evaluate", state, recording, "--label-topic", "/nothing")
    assert ".svg" in error_of("bag", "evaluate", state, recording, *TOPICS, "--plot", "plot.txt")
    assert "no bag" in error_of("bag", "predict", state, tmp_path / "missing")
    intervals = tmp_path / "intervals.csv"
    intervals.write_text("100,101,cup\n", "utf-8")
    new = tmp_path / "new.robocle"
    assert "no frame" in error_of("bag", "teach", new, recording, "--intervals", intervals)
    assert not new.exists()


def test_frames_that_cannot_be_read_are_skipped_and_counted(state: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(home_picture("clean/mug_01/0").read_bytes()[:600])
    good = home_picture("clean/mug_01/1")
    pictures = [good, bad, bad, bad, bad, good]
    write_bag(tmp_path / "bag", [Example(path, "mug") for path in pictures])
    result = run("bag", "evaluate", state, tmp_path / "bag", *TOPICS)
    assert result.exit_code == 0
    assert result.stderr.count("is skipped") == 3
    assert "4 frames are skipped in all" in result.stderr
    result = run("bag", "teach", state, tmp_path / "bag", *TOPICS, "--every", "0")
    assert "taught 2 frames" in result.stdout


def test_a_rendered_recording_is_written_taught_and_evaluated(tmp_path: Path) -> None:
    folder = tmp_path / "rendered"
    recordings = [
        Recording(0, category, 1, "clutter", segment)
        for category in ("mug", "bottle")
        for segment in (1, 2)
    ]
    render_openloris(folder, recordings, 10, 64)
    for split in ("train", "test"):
        written = run("bag", "write", tmp_path / split, folder, "--split", split)
        assert written.exit_code == 0, written.output
    state = tmp_path / "new.robocle"
    assert run("bag", "teach", state, tmp_path / "train", *TOPICS, "--every", "0").exit_code == 0
    result = run(
        "bag", "evaluate", state, tmp_path / "test", *TOPICS, "--json", "--false-accept", "1"
    )
    values = json.loads(result.stdout)
    assert values["accuracy"] > 0.75
    assert set(values["labels"]) == {"mug", "bottle"}


def test_a_video_is_written_taught_and_recognised(tmp_path: Path) -> None:
    state = tmp_path / "new.robocle"
    for label, rate in (("mug", 30), ("clock", 12.5)):
        pictures = [home_picture(f"clean/{label}_01/{number}") for number in range(6)]
        video = write_video(tmp_path / f"{label}.avi", pictures, rate)
        written = run("bag", "write", tmp_path / label, video, "--label", label)
        assert written.stdout == f"wrote 6 frames to {tmp_path / label}\n"
        with Bag(tmp_path / label) as bag:
            assert bag.seconds == pytest.approx(5 / rate, abs=0.01)
        options = (*TOPICS, "--every", "0", "--poor", "accept")
        assert run("bag", "teach", state, tmp_path / label, *options).exit_code == 0
    assert Learner.load(state).predict(home_picture("clean/mug_01/7")).label == "mug"
    notes = tmp_path / "notes.mp4"
    notes.write_text("milk, eggs")
    assert "cannot be read as a video" in error_of("bag", "write", tmp_path / "bag", notes)
    assert not (tmp_path / "bag").exists()
    assert "there is no" in error_of("bag", "write", tmp_path / "bag", tmp_path / "missing.mp4")


def test_black_frames_read_alike_in_all_commands(state: Path, tmp_path: Path) -> None:
    black = tmp_path / "black.png"
    Image.new("RGB", (224, 224)).save(black)
    write_bag(tmp_path / "bag", [Example(black, "night")] * 8)
    video = write_video(tmp_path / "black.avi", [black], repeat=8)
    last = [
        run(*arguments).stdout.splitlines()[-1].split("\t")[1]
        for arguments in (
            ("predict", state, black),
            ("bag", "predict", state, tmp_path / "bag"),
            ("watch", state, "--camera", video, "--every", "0.05"),
        )
    ]
    assert last == ["nothing: the picture is black"] * 3
    for arguments in (("predict", state, black), ("bag", "predict", state, tmp_path / "bag")):
        values = json.loads(run(*arguments, "--json").stdout.splitlines()[-1])
        assert (values["verdict"], values["nothing"]) == ("nothing", "the picture is black")


def test_with_a_finder_the_objects_in_view_keep_their_numbers(state: Path, tmp_path: Path) -> None:
    model = tmp_path / "bright.onnx"
    model.write_bytes(bright_detector())
    frames = []
    for number in range(10):
        canvas = Image.new("RGB", (640, 480), (40, 40, 40))
        canvas.paste(Image.open(home_picture("clean/clock_01/5")), (20 + 30 * number, 100))
        canvas.save(tmp_path / f"{number}.png")
        frames.append(Example(tmp_path / f"{number}.png", "clock"))
    write_bag(tmp_path / "bag", frames)
    finder = ("--finder", f"onnx:{model}")
    result = run("bag", "predict", state, tmp_path / "bag", *finder)
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    found = [line for line in lines if line[3] == "clock"]
    assert len(found) >= 8
    assert len({line[1] for line in found}) == 1
    lefts = [float(line[2].split(",")[0]) for line in found]
    assert lefts == sorted(lefts)
    assert lefts[-1] > lefts[0] + 150
    values = json.loads(
        run("bag", "predict", state, tmp_path / "bag", *finder, "--json").stdout.splitlines()[-1]
    )
    assert (values["label"], values["seconds"]) == ("clock", 0.9)
    box = ("--box", "0,0,99,99")
    assert "--finder" in run("bag", "predict", state, tmp_path / "bag", *finder, *box).stderr
    alone, nearer = (
        json.loads(
            run("bag", "evaluate", state, tmp_path / "bag", *TOPICS, "--json", *given).stdout
        )
        for given in ((), finder)
    )
    assert nearer["accuracy"] >= alone["accuracy"]
    assert nearer["accuracy"] == 1


def test_a_label_that_cannot_be_used_ends_the_lesson_and_says_what_was_taught(
    tmp_path: Path,
) -> None:
    picture = home_picture("clean/mug_01/0")
    examples = [Example(picture, "mug")] * 3 + [Example(picture, "a" * 5000)]
    write_bag(tmp_path / "bag", examples)
    state = tmp_path / "new.robocle"
    options = (*TOPICS, "--every", "0", "--poor", "accept")
    message = error_of("bag", "teach", state, tmp_path / "bag", *options)
    assert message.endswith(f"taught 3 frames before; `robocle undo {state}` reverts that")
    assert Learner.load(state).counts == {"mug": 3}


def test_poor_frames_are_named_skipped_or_refused(tmp_path: Path) -> None:
    pictures = [home_picture(f"clean/mug_01/{number}") for number in (0, 0, 0, 0, 0, 1)]
    write_bag(tmp_path / "bag", [Example(path, "mug") for path in pictures])
    state = tmp_path / "new.robocle"
    teach = ("bag", "teach", state, tmp_path / "bag", *TOPICS, "--every", "0")
    refused = error_of(*teach, "--poor", "refuse")
    assert refused.startswith("the frame at 0.10 s: almost the same as the last")
    assert refused.endswith("nothing was taught")
    assert not state.exists()
    skipped = run(*teach, "--poor", "skip")
    assert skipped.stderr.count("s is skipped: almost the same as the last") == 3
    assert skipped.stderr.endswith("robocle: 4 frames are skipped in all\n")
    assert Learner.load(state).counts == {"mug": 2}
    warned = run(*teach)
    assert warned.stderr.count("; taught all the same") == 3
    assert warned.stderr.endswith("robocle: 6 frames are poor in all\n")
    assert Learner.load(state).counts == {"mug": 8}


def test_a_box_outside_all_frames_is_one_error(recording: Path, tmp_path: Path) -> None:
    arguments = (*TOPICS, "--box", "900,900,50,50")
    for poor in ("warn", "refuse"):
        new = tmp_path / "new.robocle"
        result = run("bag", "teach", new, recording, *arguments, "--poor", poor)
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1].endswith("could be taught")
        assert not new.exists()


def test_an_interrupted_lesson_keeps_what_was_taught(tmp_path: Path) -> None:
    examples = [Example(home_picture("clean/mug_01/0"), "mug") for _ in range(2000)]
    write_bag(tmp_path / "bag", examples)
    state = tmp_path / "new.robocle"
    paths = (str(state), str(tmp_path / "bag"))
    command = [sys.executable, "-m", "robocle", "bag", "teach", *paths]
    with subprocess.Popen(
        [*command, *TOPICS, "--every", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not state.exists():
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted: taught" in errors
    assert 0 < Learner.load(state).counts.get("mug", 0) < 2000


@pytest.mark.parametrize(("views", "exit_code"), [(None, 0), ("plain", 1)])
def test_another_program_may_create_the_state_while_frames_are_embedded(
    views: str | None,
    exit_code: int,
    recording: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embed = Learner.embed_for_teaching
    state = tmp_path / "new.robocle"

    def embed_late(self: Learner, *arguments: Any, **options: Any) -> Any:
        Learner.open(state, views=views).close()
        return embed(self, *arguments, **options)

    monkeypatch.setattr(Learner, "embed_for_teaching", embed_late)
    result = run("bag", "teach", state, recording, *TOPICS, "--most", "1")
    assert result.exit_code == exit_code, result.output
    assert bool(Learner.load(state).counts) == (exit_code == 0)


def test_tables_and_plots_show_labels_that_were_never_shown(tmp_path: Path) -> None:
    tally = Tally({"mug", "pan"}, 10.0)
    for n in range(100):
        said = "pan" if n % 10 == 0 else "mug"
        truth = "mug" if n < 80 else "dragon"
        tally.add(n / 10, truth, predicted=said, announced="undecided" if n >= 95 else said)
    assert tally.labels["dragon"].steady == 0  # undecided is not unknown
    table = label_table(tally)
    assert table.splitlines()[2].split()[:3] == ["dragon", "(not", "taught)"]
    assert "pan (8)" in table
    assert len(time_table(tally).splitlines()) == 21
    for name in ("plot.svg", "plot.png", "plot.pdf"):
        plot_recording(tally, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
        require_plot_format(tmp_path / name)  # it may be replaced
    (tmp_path / "mine.png").write_bytes(b"a photograph")
    with pytest.raises(RobocleError, match=r"mine\.png exists and was not written by robocle"):
        require_plot_format(tmp_path / "mine.png")
