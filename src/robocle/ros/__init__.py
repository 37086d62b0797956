"""ROS 2: a lifecycle node that learns and recognises objects in the images of a camera.

`program.py`, `node.py` and `messages.py` need rclpy, which comes from the robot's distribution. The
others do not.
"""

from importlib import import_module
from types import ModuleType

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
