"""Starts the robocle node.

    ros2 launch robocle_interfaces robocle.launch.py state:=/home/robot/home.robocle \
        image:=/camera/image_raw transport:=compressed
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    "state": ("", "The state file. It is created if it does not exist."),
    "image": ("/camera/image_raw", "The topic of the images, without /compressed."),
    "boxes_topic": ("/detections", "The topic of a detector's boxes."),
    "transport": ("raw", "raw or compressed."),
    "reliability": ("best_effort", "best_effort or reliable."),
    "boxes": ("false", "Whether to label the boxes of a detector."),
    "false_accept": ("0.05", "The fraction of unrelated objects that may be accepted."),
    "filter": ("true", "Whether to filter the predictions over time."),
    "namespace": ("", "The namespace of the node."),
}
TEXTS = ("state", "transport", "reliability")
VALUES = {"boxes": bool, "false_accept": float, "filter": bool}


def generate_launch_description() -> LaunchDescription:
    """Return the node with its arguments."""
    image = LaunchConfiguration("image")
    texts = {name: ParameterValue(LaunchConfiguration(name), value_type=str) for name in TEXTS}
    values = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in VALUES.items()
    }
    node = Node(
        # The command of the Python package, which must be in the PATH.
        executable="robocle",
        arguments=["ros"],
        name="robocle",
        namespace=LaunchConfiguration("namespace"),
        parameters=[{**texts, **values}],
        remappings=[
            ("image", image),
            ("image/compressed", [image, "/compressed"]),
            ("boxes", LaunchConfiguration("boxes_topic")),
        ],
        output="screen",
    )
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, node])
