"""A real ROS 2 node is taught by its services and recognises what a camera publishes."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from robocle_interfaces.srv import List

from command_line import run_subprocess
from home_pictures import home_picture
from ros_robot import compressed_image, raw_image
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
Start = Callable[..., "Process"]
LABELS = ("mug", "clock", "banana")


def picture(label: str, number: int) -> Path:
    return home_picture(f"clean/{label}_01/{number}")


def teach_all(robot: "Robot", labels: tuple[str, ...] = LABELS) -> None:
    for label in labels:
        answer = robot.teach(label, *(raw_image(picture(label, n)) for n in range(4)))
        assert answer.success, answer.message
        assert answer.taught == 4


def test_taught_by_a_service_the_node_recognises_forgets_and_undoes(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false")
    before = robot.show(raw_image(picture("mug", 5)))
    assert (before.label, before.unknown_probability, list(before.labels)) == ("", 1.0, [])
    teach_all(robot)

    seen = robot.show(raw_image(picture("mug", 5)))
    assert seen.label == "mug"
    assert seen.header.frame_id == "camera"
    assert sum(seen.confidences) + seen.unknown_probability == pytest.approx(1)
    assert list(seen.confidences) == sorted(seen.confidences, reverse=True)
    assert robot.show(raw_image(picture("clock", 5))).label == "clock"
    assert robot.show(raw_image(picture("umbrella", 0))).label == ""

    found = robot.call("list")
    assert list(found.labels) == list(LABELS)
    assert list(found.counts) == [4, 4, 4]
    versions = [info.version for info in wait_for(lambda: robot.infos[3:] and robot.infos, "infos")]
    assert versions == sorted(set(versions))

    assert robot.call("forget", label="mug").success
    assert robot.show(raw_image(picture("mug", 5))).label != "mug"
    assert robot.call("undo").message == "undid forgetting 'mug'"
    assert robot.call("rename", label="mug", new_label="cup").success
    assert robot.show(raw_image(picture("mug", 5))).label == "cup"
    copy = state.with_name("copy.robocle")
    assert robot.call("save", path=str(copy)).success
    assert "it exists" in robot.call("save", path=str(copy)).message
    assert robot.call("save", path=str(copy), replace=True).success
    copy.write_text("notes")
    assert "is not a robocle state" in robot.call("save", path=str(copy), replace=True).message
    assert copy.read_text() == "notes"


def test_the_next_frames_of_the_camera_are_taught(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "transport:=compressed", "-p", "filter_frames:=1.0")
    robot.connected(robot.compressed)
    for label in ("mug", "clock"):
        frames = [picture(label, n).read_bytes() for n in range(4)]
        turn = iter(range(10_000))
        with robot.streaming(
            robot.compressed,
            lambda frames=frames, turn=turn: compressed_image(frames[next(turn) % 4]),  # type: ignore[misc]
            rate=20,
        ):
            answer = robot.call("teach", label=label, frames=5)
        assert answer.success, answer.message
        assert answer.taught == 5
    for label in ("mug", "clock"):
        image = compressed_image(picture(label, 5).read_bytes())
        for _ in range(6):  # the filter needs a few frames
            seen = robot.show(image, robot.compressed)
        assert seen.label == label


def test_bad_input_is_an_answer_or_a_warning_and_the_node_lives(
    robot: "Robot", start: Start, state: Path
) -> None:
    node = start(state, "-p", "filter:=false", "-p", "teach_timeout:=0.5")
    assert "never taught" in robot.call("forget", label="mug").message
    assert "nothing to undo" in robot.call("undo").message
    assert "label" in robot.teach("", raw_image(picture("mug", 0))).message
    assert "0 of 3 frames" in robot.call("teach", label="mug", frames=3).message
    assert "out of range" in robot.call("teach", label="mug", frames=5000).message
    assert "path is empty" in robot.call("save", path="").message
    for bad in bad_images():
        answer = robot.teach("mug", bad)
        assert not answer.success
        assert answer.message
        robot.raw.publish(robot.stamped(bad))
    teach_all(robot, ("mug", "clock"))
    for bad in bad_images():
        robot.raw.publish(robot.stamped(bad))
    wait_for(lambda: node.logged("an image was not used"), "a warning")
    wait_for(lambda: any(each.level == b"\x01" for each in robot.diagnostics), "diagnostics warn")
    assert robot.show(raw_image(picture("mug", 5))).label == "mug"
    assert node.process.poll() is None
    assert not node.logged("Traceback")


def bad_images() -> list[Any]:
    encoding = raw_image(picture("mug", 0))
    encoding.encoding = "bayer_rggb8"
    truncated = raw_image(picture("mug", 0))
    truncated.data = truncated.data[:1000]
    empty = raw_image(picture("mug", 0))
    empty.height = empty.width = empty.step = 0
    empty.data = empty.data[:0]
    return [encoding, truncated, empty]


def test_a_node_that_is_killed_comes_back_with_all_that_was_taught(
    robot: "Robot", start: Start, state: Path
) -> None:
    node = start(state, "-p", "filter:=false")
    teach_all(robot)
    version = robot.call("list").version
    node.end(signal.SIGKILL)
    count = len(robot.infos)
    again = start(state, "-p", "filter:=false")
    wait_for(lambda: len(robot.infos) > count, "the info of the new node")
    assert robot.infos[-1].version == version
    assert list(robot.infos[-1].labels) == list(LABELS)
    assert list(robot.infos[-1].counts) == [4, 4, 4]
    assert robot.show(raw_image(picture("banana", 5))).label == "banana"
    assert again.end(signal.SIGTERM) == 0
    count = len(robot.infos)
    third = start(state)
    wait_for(lambda: len(robot.infos) > count, "the info of the third node")
    assert third.end(signal.SIGINT) == 0
    assert not again.logged("Traceback")
    assert not third.logged("Traceback")


def test_what_a_command_teaches_is_announced_and_recognised_by_all_nodes(
    robot: "Robot", start: Start, state: Path
) -> None:
    nodes = start(state, "-p", "filter:=false"), start(state, "-r", "__ns:=/second")
    teach_all(robot, ("mug", "clock"))
    before = robot.call("list").version
    taught = run_subprocess("teach", state, "banana", *(picture("banana", n) for n in range(4)))
    assert taught.returncode == 0, taught.stderr
    wait_for(lambda: robot.infos[-1].version > before, "the info after another program's lesson")
    assert list(robot.infos[-1].labels) == list(LABELS)
    assert robot.show(raw_image(picture("banana", 5))).label == "banana"
    others = robot.node.create_client(List, "/second/robocle/list")
    assert others.wait_for_service(30)
    answer = others.call_async(List.Request())
    wait_for(answer.done, "the list of the second node")
    assert list(answer.result().labels) == list(LABELS)
    for label in LABELS:
        assert run_subprocess("forget", state, label).returncode == 0
    wait_for(lambda: not robot.infos[-1].labels, "the info after everything was forgotten")
    assert robot.show(raw_image(picture("mug", 5))).label == ""
    for node in nodes:
        assert not node.logged("Traceback")
        assert node.end() == 0


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "mono8"])
def test_raw_encodings_are_recognised(
    encoding: str, robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false", "-p", "false_accept:=1.0")
    teach_all(robot)
    for label in LABELS:
        assert robot.show(raw_image(picture(label, 5), encoding)).label == label


def test_disabled_the_node_is_silent_until_it_is_enabled(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false")
    teach_all(robot, ("mug", "clock"))
    robot.show(raw_image(picture("mug", 5)))
    assert robot.call("enable", data=False).success
    assert "activate and enable" in robot.call("teach", label="mug").message
    with pytest.raises(AssertionError, match="no prediction"):
        robot.show(raw_image(picture("mug", 5)), seconds=2)
    assert robot.call("enable", data=True).success
    assert robot.show(raw_image(picture("mug", 5))).label == "mug"
