"""The commands that teach and evaluate from recordings of ROS 2."""

import itertools
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle._internal.wording import as_json, in_words
from robocle.cli.app import (
    NonemptyPath,
    StatePath,
    main,
    plural,
    print_error,
    stop_requests,
)
from robocle.cli.options import (
    BoxOption,
    box_option,
    false_accept_option,
    poor_option,
    with_parameters,
)
from robocle.cli.output import activity, box_text, echo, echo_above_bar, echo_lines, progress
from robocle.cli.pictures import (
    UsedFrames,
    loaded_learner,
    opened_after_embedding,
    point_out_similar,
)
from robocle.errors import DataError, NothingTaughtError, QualityError, RobocleError

if TYPE_CHECKING:
    from robocle.bags import BagFrame, Intervals
    from robocle.bags.writing import Storage
    from robocle.images.quality import Poor
    from robocle.learner import Learner
    from robocle.learner.embedding import Embedding
    from robocle.recognition.temporal_filter import Announcement
    from robocle.types import Prediction

BagPath = NonemptyPath()
NO_LABEL = "no frame of {} has a label: check the times of the labels"


@main.group(short_help="Teach and evaluate from recordings of ROS 2.")
def bag() -> None:
    """Teach and evaluate from recordings of ROS 2 (rosbag2: sqlite3 or MCAP), without ROS."""


every_option = click.option(
    "--every", type=click.FloatRange(0), default=0.0, show_default=True, metavar="SECONDS",
    help="Use only one frame within this time; 0 uses all.",
)  # fmt: skip


bag_arguments = with_parameters(
    click.argument("state", type=StatePath),
    click.argument("path", type=BagPath, metavar="BAG"),
    click.option("--topic", help="The topic of the frames. It can be left out if there is only "
                 "one."),
    box_option,
)  # fmt: skip
label_options = with_parameters(
    click.option("--label-topic", metavar="TOPIC",
                 help="A topic of std_msgs/String messages: each is the label until the next one, "
                 "an empty one ends it."),
    click.option("--intervals", type=NonemptyPath(dir_okay=False), metavar="FILE",
                 help="A CSV file with lines start,end,label, in seconds since the start of the "
                 "bag."),
)  # fmt: skip


@bag.command("teach", short_help="Teach the labelled frames of a bag.")
@bag_arguments
@label_options
@click.option("--every", type=click.FloatRange(0), default=0.5, show_default=True,
              metavar="SECONDS", help="Teach only one frame within this time; neighbouring frames "
              "are almost the same.")  # fmt: skip
@click.option("--most", type=click.IntRange(1), metavar="N",
              help="Teach at most N frames per label.")  # fmt: skip
@poor_option
def bag_teach(state: Path, path: Path, topic: str | None, label_topic: str | None,
              intervals: Path | None, every: float, most: int | None, poor: "Poor",
              box: BoxOption) -> None:  # fmt: skip
    """Teach STATE the frames of BAG that have a label, as one step.

    BAG is a folder with metadata.yaml, or a single .mcap or .db3 file. STATE is created if it does
    not exist. Frames that cannot be read are skipped. Ctrl-C keeps what was taught.
    """
    with activity("starting"):
        from robocle.bags import Bag
        from robocle.learner import Learner

    labels = _labels(label_topic, intervals)
    taught: Counter[str] = Counter()
    with Bag(path) as recording, stop_requests() as stop, ExitStack() as stack:
        used = UsedFrames(recording, topic, labels, every)
        frames = itertools.takewhile(lambda _: stop.received is None, used.read("teaching"))
        is_new = not os.path.exists(state)
        learner = Learner() if is_new else stack.enter_context(Learner.open(state))
        before = learner.labels
        lessons = _lessons(learner, used, frames, most, poor, box)
        try:
            # With refuse, nothing is taught before all frames are checked.
            lessons = iter(list(lessons) if poor == "refuse" else lessons)
            first = list(itertools.islice(lessons, 1))
            if first and is_new:  # it is created once there is something to teach
                learner = stack.enter_context(opened_after_embedding(state, learner, {}))
            with learner.step():
                for embedding, label in itertools.chain(first, lessons):
                    learner.teach_embedding(embedding, label)
                    taught[label] += 1
        except QualityError as error:
            raise QualityError(f"{error}; nothing was taught", error.complaints) from error
        except RobocleError as error:
            raise DataError(f"{error}; {_reverted(taught, state)}") from error
        known = plural(len(learner.labels), "label")
    used.print_counts()
    for label in taught:
        point_out_similar(label, before, state)
    if stop.received:
        print_error(f"interrupted: {_reverted(taught, state)}")
        sys.exit(stop.received.exit_code)
    if not used.count:
        raise DataError(NO_LABEL.format(path))
    if not taught:
        raise DataError(f"no frame of {path} could be taught")
    counts = ", ".join(f"{label} ({count})" for label, count in taught.items())
    echo(f"taught {plural(taught.total(), 'frame')} of {counts}; {state} knows {known}")


def _reverted(taught: Counter[str], state: Path) -> str:
    """Say what was taught before the command ended early."""
    count = plural(taught.total(), "frame")
    return (
        f"taught {count} before; `robocle undo {state}` reverts that" if taught else "taught none"
    )


def _lessons(learner: "Learner", used: UsedFrames, frames: "Iterator[BagFrame]", most: int | None,
             poor: "Poor", box: BoxOption) -> "Iterator[tuple[Embedding, str]]":  # fmt: skip
    """Yield the embeddings of the frames to teach, and their labels."""
    checks, chosen = learner.quality_gate(poor), Counter[str | None]()
    wanted = (frame for frame in frames if most is None or chosen[frame.label] < most)
    embed = partial(learner.embed_for_teaching, box=box)
    for frame, embedding in used.each(wanted, embed):
        assert frame.label is not None
        try:
            found = checks.check(embedding.complaints, embedding.values, frame.label)
        except QualityError as error:
            message = f"the frame at {frame.seconds:.2f} s: {error}"
            raise QualityError(message, error.complaints) from error
        if found:
            used.note("skipped" if checks.skips_poor else "poor", frame, found[0])
        if not (found and checks.skips_poor):
            chosen[frame.label] += 1
            yield embedding, frame.label


finder_option = click.option(
    "--finder", metavar="FINDER",
    help="The finder of boxes: any exported detector, such as onnx:picodet.onnx.",
)  # fmt: skip


@bag.command("predict", short_help="Recognise the frames of a bag.")
@bag_arguments
@every_option
@click.option("--json", "json_lines", is_flag=True, help="Print one JSON object per line.")
@finder_option
@false_accept_option
def bag_predict(state: Path, path: Path, topic: str | None, every: float, json_lines: bool,
                box: BoxOption, finder: str | None, false_accept: float) -> None:  # fmt: skip
    """Recognise the objects of STATE in the frames of BAG.

    Prints the seconds since the start of the bag, the label of the frame (or "unknown", or
    "nothing" and why), the probability of that, and the label that a filter over the frames
    announces.

    With a finder, it prints one line per object that is in view: the seconds, a number that the
    object keeps while it is in view, its box as x,y,width,height in pixels, and its filtered label
    and probability.
    """
    from robocle.bags import Bag

    if finder and box:
        raise click.UsageError("--box and --finder both say where to look: give one of them")
    learner = _loaded(state, finder)
    with Bag(path) as recording:
        used = UsedFrames(recording, topic, None, every)
        if finder:
            lines = _tracked(used, learner, json_lines, false_accept)
        else:
            lines = _recognised(used, learner, json_lines, box, false_accept)
        for line in lines:
            echo_above_bar(line, err=False)
    used.print_counts()


def _recognised(used: UsedFrames, learner: "Learner", json_lines: bool, box: BoxOption,
                false_accept: float) -> Iterator[str]:  # fmt: skip
    """Yield a line per frame."""
    for frame, found, said in _announced(used, learner, box, false_accept):
        if json_lines:
            names = ("verdict", "label", "confidence", "nearest", "nothing", "unknown_probability")
            values = {name: getattr(found, name) for name in names}
            filtered = {"filtered": said.label, "filtered_verdict": said.verdict}
            yield as_json({"seconds": round(frame.seconds, 3), **values, **filtered})
        else:
            label, steady = (in_words(each.label, each.verdict, each.nothing)
                             for each in (found, said))  # fmt: skip
            yield "\t".join([f"{frame.seconds:.2f}", label, _probability(found), steady])


def _announced(
    used: UsedFrames, learner: "Learner", box: BoxOption, false_accept: float
) -> "Iterator[tuple[BagFrame, Prediction, Announcement]]":
    """Yield frames with their predictions and what a filter announces."""
    from robocle.recognition.temporal_filter import TemporalFilter

    steady = TemporalFilter()
    predict = partial(learner.predict, false_accept=false_accept, box=box)
    for frame, found in used.each(used.read("recognising"), predict):
        yield frame, found, steady.update(found)


def _tracked(
    used: UsedFrames, learner: "Learner", json_lines: bool, false_accept: float
) -> Iterator[str]:
    """Yield a line per object that is in view, in each frame."""
    from robocle.learner.tracking import Tracker

    tracker, find = Tracker(), partial(learner.find, false_accept=false_accept)
    for frame, finds in used.each(used.read("finding"), find):
        for each in tracker.update(finds):
            if json_lines:
                yield as_json({"seconds": round(frame.seconds, 3), **each.as_values()})
                continue
            said = each.announcement
            label = in_words(said.label, said.verdict, said.nothing)
            fields = (f"{frame.seconds:.2f}", str(each.number), box_text(each.box), label)
            yield "\t".join([*fields, _probability(said)])


def _probability(found: "Prediction | Announcement") -> str:
    """Return how probable the verdict is: for an unknown object, that it was not taught."""
    is_taught = found.verdict in ("known", "undecided")
    return f"{found.confidence if is_taught else found.unknown_probability:.2f}"


@bag.command("evaluate", short_help="Compare what is recognised in a bag with its labels.")
@bag_arguments
@label_options
@every_option
@click.option("--plot", type=NonemptyPath(dir_okay=False), metavar="FILE",
              help="Draw what was recognised when into this file: .png, .svg or .pdf.")  # fmt: skip
@click.option("--json", "as_values", is_flag=True, help="Print the counts as JSON.")
@finder_option
@false_accept_option
def bag_evaluate(state: Path, path: Path, topic: str | None, label_topic: str | None,
                 intervals: Path | None, every: float, plot: Path | None, as_values: bool,
                 box: BoxOption, finder: str | None, false_accept: float) -> None:  # fmt: skip
    """Compare what STATE recognises in the frames of BAG with their labels.

    Prints, per label and over time, how many frames are right alone and with a filter over the
    frames. An object that STATE was not taught is right if it is called unknown.
    """
    from robocle.bags import Bag, Tally
    from robocle.reports.recording import (
        label_table,
        plot_recording,
        require_plot_format,
        time_table,
    )

    if plot:
        require_plot_format(plot)
    labels = _labels(label_topic, intervals)
    learner = _loaded(state, finder)
    with Bag(path) as recording:
        used = UsedFrames(recording, topic, labels, every)
        tally = Tally(learner.labels, recording.seconds)
        for frame, found, said in _announced(used, learner, box, false_accept):
            assert frame.label is not None
            is_decided = said.verdict != "undecided"
            tally.add(frame.seconds, frame.label, predicted=found.label, announced=said.label,
                      is_decided=is_decided)  # fmt: skip
    used.print_counts()
    if not tally.frames:
        raise DataError(NO_LABEL.format(path))
    if as_values:
        echo(as_json(tally.as_values()))
    else:
        echo_lines(f"{label_table(tally)}\n\n{time_table(tally)}")
    if plot:
        plot_recording(tally, plot)
        echo(f"wrote {plot}", err=as_values)


@bag.command("write", short_help="Write pictures or a video as a bag.")
@click.argument("path", type=BagPath, metavar="BAG")
@click.argument("source", type=NonemptyPath())
@click.option("--dataset", "spec", default="openloris", show_default=True, metavar="SPEC",
              help="The layout of a folder of pictures.")  # fmt: skip
@click.option("--split", help="Only pictures of this split, such as train or test.")
@click.option("--label", help="The label of a whole video.")
@click.option("--rate", type=click.FloatRange(0.01, 1000),
              help="Frames per second.  [default: that of the video; 10 for pictures]")  # fmt: skip
@click.option("--storage", type=click.Choice(["mcap", "sqlite3"]), default="mcap",
              show_default=True, help="The format of the bag.")  # fmt: skip
def bag_write(path: Path, source: Path, spec: str, split: str | None, label: str | None,
              rate: float | None, storage: "Storage") -> None:  # fmt: skip
    """Write SOURCE as the bag BAG.

    SOURCE is a video file, or a folder of pictures such as `robocle sim` renders. The frames are in
    the topic /camera/image/compressed, the labels in /label.
    """
    from robocle.bags import write_bag, write_video
    from robocle.classifiers.labels import require_label
    from robocle.evaluation.datasets import dataset

    if path.suffix == ".bag":
        raise DataError(f"{path} would be a bag of ROS 1: choose a name without .bag")
    if not source.exists():
        raise DataError(f"there is no {source}: give a video file, or a folder of pictures")
    if source.is_file():
        with activity("writing"):
            count = write_video(path, source, label and require_label(label), rate, storage)
    else:
        if label:
            raise click.UsageError("--label is for a video: the pictures have labels of their own")
        found = dataset(spec).examples(source)
        examples = [each for each in found if split in (None, each.split)]
        if not examples:
            raise DataError(f"{source} has no pictures of the split {split}")
        count = write_bag(path, progress(examples, "writing"), rate or 10.0, storage)
    echo(f"wrote {plural(count, 'frame')} to {path}")


def _labels(label_topic: str | None, intervals: Path | None) -> "Intervals | str":
    from robocle.bags import Intervals

    if intervals is not None and label_topic is None:
        return Intervals.read(intervals)
    if label_topic is not None and intervals is None:
        return label_topic
    raise click.UsageError("give either --label-topic or --intervals")


def _loaded(state: Path, finder: str | None) -> "Learner":
    learner = loaded_learner(state, finder)
    if not learner.labels:
        raise NothingTaughtError
    return learner
