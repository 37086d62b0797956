"""Nodes that are started in every way, killed, doubled and refused."""

import re
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

import yaml
from ament_index_python.packages import get_package_share_directory
from lifecycle_msgs.srv import GetState
from robocle_interfaces.srv import List

from command_line import run_subprocess
from robocle.ros.settings import PARAMETERS
from ros_robot import RECOGNISER, picture_of, raw_image
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
Start = Callable[..., "Process"]
LABELS = ("mug", "clock", "banana")


def test_a_node_that_is_killed_comes_back_with_all_that_was_taught(
    robot: "Robot", start: Start, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    node = start(state)
    robot.teach_all(*LABELS)
    version = robot.call("list").version
    node.end(signal.SIGKILL)
    count = len(robot.infos)
    again = start(state, "--ros-args", "-p", "filter:=false")
    wait_for(lambda: len(robot.infos) > count, "the info of the new node")
    assert robot.infos[-1].version == version
    assert dict(zip(robot.infos[-1].labels, robot.infos[-1].counts, strict=True)) == dict.fromkeys(
        LABELS, 4
    )
    assert robot.show(raw_image(picture_of("banana", 5))).label == "banana"
    assert again.end(signal.SIGINT) == 0
    assert not again.logged("Traceback")


def test_two_nodes_and_a_command_share_a_state_and_no_topic(
    robot: "Robot", start: Start, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    first = start(state, "--ros-args", "-p", "filter:=false")
    second = start(state, "--ros-args", "-r", "__node:=second")
    robot.teach_all("mug", "clock")
    before = robot.call("list").version
    taught = run_subprocess("teach", state, "banana", *(picture_of("banana", n) for n in range(4)))
    assert taught.returncode == 0, taught.stderr
    wait_for(lambda: robot.infos[-1].version > before, "the info after another program's lesson")
    assert robot.show(raw_image(picture_of("banana", 5))).label == "banana"
    assert list(robot.call_of(List, "/second/list").labels) == list(LABELS)
    for topic in ("prediction", "info", "detections", "debug_image"):
        assert robot.node.count_publishers(f"/robocle/{topic}") == 1
        assert robot.node.count_publishers(f"/second/{topic}") == 1
        assert robot.node.count_publishers(f"/{topic}") == 0
    # An older copy of the file has an older version; what the node publishes goes on growing.
    version, content = robot.infos[-1].version, state.read_bytes()
    assert run_subprocess("forget", state, "mug").returncode == 0
    wait_for(lambda: robot.infos[-1].version > version, "the info after a label was forgotten")
    version = robot.infos[-1].version
    (tmp_path / "older").write_bytes(content)
    (tmp_path / "older").replace(state)
    wait_for(lambda: len(robot.infos[-1].labels) == 3, "the info of the older copy")
    assert robot.infos[-1].version > version
    for node in (first, second):
        assert not node.logged("Traceback")
        assert node.end() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ros-args", "-p", "boxes:=maybe"), "boxes"),
        (("--ros-args", "-p", "max_rate:=fast"), "max_rate='fast' is not a number"),
        (("--ros-args", "-p", "false_accept:=0.9"), "out of range"),
        (("--ros-args", "-p", "finder:=onnx:missing.onnx"), "missing.onnx"),
        (("--ros-args", "--params-file", "missing.yaml"), "missing.yaml"),
        (("--camera", "0"), "--camera"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_line(
    arguments: tuple[str, ...], words: str, start: Start, tmp_path: Path
) -> None:
    node = start(tmp_path / "home.robocle", *arguments)
    assert node.process.wait(60) != 0
    wait_for(lambda: node.logged(words), "the reason")
    assert not node.logged("Traceback")


class Recorded(types.SimpleNamespace):
    """What the launch file makes of an action: its arguments."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(positional=positional, **named)

    def perform(self, context: dict[str, str]) -> str:
        return context[self.positional[0]]


def command_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **given: str) -> list[str]:
    """Return the command that `ros2 launch` would run.

    There are no wheels of launch and launch_ros, so their actions are only recorded here, and
    this writes out what launch_ros documents for a node.
    """
    names = ("LaunchDescription", "LaunchContext", "DeclareLaunchArgument", "OpaqueFunction")
    for module in ("launch", "launch.actions", "launch.substitutions", "launch_ros.actions"):
        fake: Any = types.ModuleType(module)
        for name in (*names, "LaunchConfiguration", "Node"):
            setattr(fake, name, Recorded)
        monkeypatch.setitem(sys.modules, module, fake)
    share = Path(get_package_share_directory("robocle_ros"))
    code = (share / "launch/recogniser.launch.py").read_text("utf-8")
    launch: dict[str, Any] = {}
    exec(compile(code, "recogniser.launch.py", "exec"), launch)
    (*declared, start) = launch["generate_launch_description"]().positional[0]
    context = {each.positional[0]: each.default_value for each in declared}
    assert set(given) <= set(context)
    assert set(PARAMETERS) <= set(context)
    (node,) = start.function(context | given)
    assert (node.package, node.executable) == ("robocle_ros", RECOGNISER.name)
    command = [*node.arguments, "--ros-args", "-r", f"__node:={node.name}"]
    command += ["-r", f"__ns:=/{node.namespace}"] if node.namespace else []
    for number, each in enumerate(node.parameters):
        file = tmp_path / f"{number}.yaml"
        if isinstance(each, dict):
            file.write_text(yaml.safe_dump({"/**": {"ros__parameters": each}}))
        command += ["--params-file", str(each if isinstance(each, str) else file)]
    for source, target in node.remappings:
        command += ["-r", f"{source}:={target}"]
    return command


def test_the_launch_file_starts_the_node_with_a_file_of_parameters_and_arguments(
    robot: "Robot", start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.yaml"
    values = {"state": str(tmp_path / "of_the_file.robocle"), "false_accept": 0.01, "max_rate": 9}
    mine.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
    given = {"params_file": str(mine), "false_accept": "0.02", "roi": "[1, 2, 64, 48]"}
    command = command_of(monkeypatch, tmp_path, **given, namespace="kitchen")
    node = start(*command)
    answer = robot.call_of(List, "/kitchen/robocle/list")
    assert answer.success
    wait_for((tmp_path / "of_the_file.robocle").exists, "the state of the file")
    names = ["false_accept", "roi", "max_rate"]
    from rcl_interfaces.srv import GetParameters

    found = robot.call_of(GetParameters, "/kitchen/robocle/get_parameters", names=names).values
    assert [found[0].double_value, list(found[1].integer_array_value)] == [0.02, [1, 2, 64, 48]]
    assert found[2].integer_value == 9
    assert node.end() == 0


def test_the_launch_file_leaves_the_start_to_a_lifecycle_manager(
    robot: "Robot", start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = command_of(monkeypatch, tmp_path, state=str(tmp_path / "x"), autostart="false")
    assert command[0] == "--no-autostart"
    for arguments in (command, [str(tmp_path / "x"), *command]):  # in any order
        node = start(*arguments)
        label = robot.call_of(GetState, "/robocle/get_state").current_state.label
        assert label == "unconfigured"
        assert "configure it first" in robot.call("list").message
        assert "configure it first" in robot.teach("mug", raw_image(picture_of("mug", 0))).message
        assert node.end() == 0
        assert not (tmp_path / "x").exists()
    assert re.search(r"--params-file \S*config/recogniser.yaml", " ".join(command))
