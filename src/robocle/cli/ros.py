"""The command that runs the ROS 2 node."""

from pathlib import Path

import click

from robocle.cli.app import StatePath, main


@main.command(
    short_help="Run the ROS 2 node.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--no-autostart", is_flag=True,
              help="Wait for a lifecycle manager to configure and activate the node.")  # fmt: skip
@click.argument("state", type=StatePath, required=False)
@click.argument("ros_arguments", nargs=-1, type=click.UNPROCESSED)
def ros(no_autostart: bool, state: Path | None, ros_arguments: tuple[str, ...]) -> None:
    """Run a ROS 2 lifecycle node that learns and recognises objects in the images of a camera.

    STATE is created if it does not exist; the parameter `state` can name it, too. What follows
    --ros-args goes to ROS:

        robocle ros home.robocle --ros-args -r image:=/camera/image_raw

    rclpy comes from the robot's distribution: source its setup file first.
    """
    from robocle.ros.program import run

    if state is not None and str(state).startswith("-"):
        state, ros_arguments = None, (str(state), *ros_arguments)
    if ros_arguments and ros_arguments[0] != "--ros-args":
        raise click.UsageError(f"unexpected {ros_arguments[0]}: ROS takes what follows --ros-args")
    run(ros_arguments, None if state is None else str(state), autostart=not no_autostart)
