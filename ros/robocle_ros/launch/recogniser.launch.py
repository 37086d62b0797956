"""Starts the robocle node. Every parameter in config/recogniser.yaml is an argument.

ros2 launch robocle_ros recogniser.launch.py state:=$HOME/home.robocle image:=/camera/image_raw
"""

from pathlib import Path

import yaml
from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = Path(get_package_share_directory("robocle_ros"), "config", "recogniser.yaml")
PARAMETERS = yaml.safe_load(CONFIG.read_text())["/**"]["ros__parameters"]
ARGUMENTS = {
    "params_file": (str(CONFIG), "A YAML file with the parameters that are not given here."),
    "image": ("image", "The topic of the images, without /compressed."),
    "boxes_topic": ("boxes", "The topic of a detector's boxes."),
    "name": ("robocle", "The name of the node."),
    "namespace": ("", "The namespace of the node."),
    "autostart": ("true", "Whether the node configures and activates itself."),
}


def recogniser(context: LaunchContext) -> list[Node]:
    """Return the node with its arguments. Parameters that are empty are those of the file."""
    given = {name: LaunchConfiguration(name).perform(context) for name in (*ARGUMENTS, *PARAMETERS)}
    values = {
        name: given[name] if isinstance(default, str) else yaml.safe_load(given[name])
        for name, default in PARAMETERS.items()
        if given[name]
    }
    return [
        Node(
            package="robocle_ros",
            executable="recogniser",
            name=given["name"],
            namespace=given["namespace"],
            arguments=[] if yaml.safe_load(given["autostart"]) else ["--no-autostart"],
            parameters=[given["params_file"], *([values] if values else [])],
            remappings=[("image", given["image"]), ("boxes", given["boxes_topic"])],
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, and what starts the node."""
    arguments = ARGUMENTS | {
        name: ("", f"The parameter {name}; params_file has it if it is not given.")
        for name in PARAMETERS
    }
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=recogniser)])
