"""A ROS domain of its own for each test process, on this machine only."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ros_robot import Process, Robot

# Before rclpy is imported: other tests on the network must not be heard.
os.environ["ROS_DOMAIN_ID"] = str(10 + os.getpid() % 90)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# What a setup file would set.
os.environ["AMENT_PREFIX_PATH"] = sys.prefix

Start = Callable[..., "Process"]


@pytest.fixture(scope="session")
def ros() -> Iterator[Any]:
    """The context of rclpy."""
    import rclpy

    rclpy.init()
    yield rclpy
    rclpy.shutdown()


@pytest.fixture
def robot(ros: Any) -> Iterator["Robot"]:
    """A camera, a detector and a listener."""
    from ros_robot import Robot

    with Robot() as found:
        yield found


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state that does not exist yet."""
    return tmp_path / "home.robocle"


def started() -> Iterator[Start]:
    """Yield a function that starts the node; it is killed at the end."""
    from ros_robot import Process

    found: list[Process] = []

    def begin(*arguments: object) -> Process:
        found.append(Process(*arguments))
        return found[-1]

    yield begin
    for process in found:
        process.end(signal.SIGKILL)


@pytest.fixture
def start(ros: Any) -> Iterator[Start]:
    """A function that starts the node for one test: [STATE, OPTIONS...,] --ros-args ..."""
    yield from started()


@pytest.fixture(scope="module")
def start_once(ros: Any) -> Iterator[Start]:
    """A function that starts the node for all tests of a module."""
    yield from started()


@pytest.fixture(scope="module")
def robot_of_module(ros: Any) -> Iterator["Robot"]:
    """A camera, a detector and a listener for all tests of a module."""
    from ros_robot import Robot

    with Robot() as found:
        yield found
