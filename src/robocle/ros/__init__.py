"""ROS 2: a lifecycle node that learns and recognises objects in the images of a camera.

rclpy comes from the robot's distribution. The node and its messages need it; images, settings and
what the node decides do not.
"""

import logging
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from robocle.errors import RosError

ADVICE = {
    "rclpy": "source the setup file of your ROS 2, such as /opt/ros/jazzy/setup.bash",
    "robocle_interfaces": "build the packages in ros/ of the robocle repository with colcon, and "
    "source install/setup.bash of that workspace",
    "vision_msgs": "sudo apt install ros-$ROS_DISTRO-vision-msgs",
}


def required(name: str) -> ModuleType:
    """Import a module of ROS 2.

    Raises:
        RosError: It is not installed, or the workspace is not sourced.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        advice = ADVICE.get(package, ADVICE["rclpy"])
        raise RosError(f"the node needs {package}, which cannot be imported: {advice}") from error


class RosLogHandler(logging.Handler):
    """Passes the log on to the logger of the node, and so to /rosout."""

    def __init__(self, logger: Any) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Log a message under its level."""
        # One line per level: rclpy forbids different levels from one line of code.
        if record.levelno >= logging.ERROR:
            self._logger.error(record.getMessage())
        elif record.levelno >= logging.WARNING:
            self._logger.warning(record.getMessage())
        else:
            self._logger.info(record.getMessage())


def run(arguments: Sequence[str], state: str | None = None, *, autostart: bool = True) -> None:
    """Run the node until it is interrupted.

    Args:
        arguments: The arguments for ROS, such as ["--ros-args", "-r", "image:=/camera/image_raw"].
        state: The state file; None takes the parameter.
        autostart: Whether the node configures and activates itself. If not, a lifecycle manager
            has to.

    Raises:
        RosError: ROS 2 is not set up, an argument is wrong, or the node cannot be configured.
    """
    rclpy = required("rclpy")
    try:
        rclpy.init(args=list(arguments))
    except Exception as error:  # of a class that only rclpy's own modules know
        raise RosError(f"ROS does not take the arguments {' '.join(arguments)}: {error}") from error
    try:
        _spin(rclpy, state, autostart)
    except KeyboardInterrupt:
        pass  # the usual end of a node
    finally:
        if rclpy.ok():
            rclpy.shutdown()


def _spin(rclpy: Any, state: str | None, autostart: bool) -> None:
    from robocle.ros.node import RobocleNode

    overrides = [] if state is None else [rclpy.Parameter("state", value=state)]
    try:
        node = required("rclpy.lifecycle").LifecycleNode("robocle", parameter_overrides=overrides)
    except Exception as error:  # such as a file of parameters that cannot be read
        raise RosError(f"the node cannot be created: {error}") from error
    log = logging.getLogger("robocle")
    log.handlers, log.propagate = [RosLogHandler(node.get_logger())], False
    log.setLevel(logging.INFO)
    executors = required("rclpy.executors")
    executor = executors.SingleThreadedExecutor()
    executor.add_node(node)
    robot = RobocleNode(node)
    try:
        if autostart:
            node.trigger_configure()
            if robot.failure:
                raise RosError(robot.failure)
            node.trigger_activate()
        executor.spin()
    except executors.ExternalShutdownException:
        pass
    finally:
        robot.close()
