"""Commands that use a camera: watch names its objects, serve teaches with it, ros runs the node."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from robocle.cli.app import Interrupted, NonemptyPath, StatePath, main, plural, print_error
from robocle.cli.edit import require_file
from robocle.cli.options import BoxOption, box_option, false_accept_option
from robocle.cli.output import activity, echo, echo_json
from robocle.errors import MissingExtraError, NothingTaughtError
from robocle.profiles import DEFAULT_PROFILE, PROFILES

ROS_ARGUMENTS = "--ros-args"


@main.command(short_help="Print which object a camera sees.")
@click.argument("state", type=StatePath)
@click.option("--camera", metavar="N|URL|VIDEO",
              help="The number of a webcam, the URL of a network camera (rtsp://... or http://...) "
              "or a video file.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--every", type=click.FloatRange(0.05, 3600), default=1.0, show_default=True,
              metavar="SECONDS", help="How often a line is printed.")  # fmt: skip
@click.option("--changes", is_flag=True, help="Print a line only when something else is seen.")
@click.option("--loop", is_flag=True, help="Start a video file again when it ends.")
@click.option("--mqtt", metavar="BROKER",
              help="Also publish to this MQTT broker: HOST, HOST:PORT or mqtts://USER@HOST:PORT. "
              "The password is in the variable ROBOCLE_MQTT_PASSWORD.")  # fmt: skip
@click.option("--mqtt-ca", type=NonemptyPath(dir_okay=False), metavar="FILE",
              help="The certificate of the authority that signed the broker's, if it is not one "
              "of the system's. TLS is used.")  # fmt: skip
@click.option("--name", help="The name of the camera in topics and in Home Assistant.  "
              "[default: the name of STATE]")  # fmt: skip
@click.option("--label-sensors", is_flag=True,
              help="Home Assistant gets a binary sensor per label: whether that object is "
              "seen.")  # fmt: skip
@click.option("--image", is_flag=True,
              help="Also publish the frame, whenever what is seen changes.")  # fmt: skip
@click.option("--topic-prefix", default="robocle", show_default=True, metavar="PREFIX",
              help="What the MQTT topics begin with.")  # fmt: skip
@click.option("--discovery-prefix", default="homeassistant", show_default=True, metavar="PREFIX",
              help="What the topics begin with that Home Assistant listens to.")  # fmt: skip
@click.option("--forget-discovery", is_flag=True,
              help="Remove the camera from the broker, and so from Home Assistant, and "
              "end.")  # fmt: skip
@click.option("--finder", metavar="FINDER",
              help="Also find the objects in the frame, with any exported detector, such as "
              "onnx:picodet.onnx.")  # fmt: skip
@box_option
@false_accept_option
def watch(state: Path, camera: str | None, as_json: bool, every: float, changes: bool, loop: bool,
          mqtt: str | None, mqtt_ca: Path | None, name: str | None, label_sensors: bool,
          image: bool, topic_prefix: str, discovery_prefix: str, forget_discovery: bool,
          finder: str | None, box: BoxOption, false_accept: float) -> None:  # fmt: skip
    """Print once per second which object of STATE a camera sees.

    Prints the time, the label (or "unknown", or "nothing" and why) and its probability. A filter
    over the frames keeps the label steady, and is "undecided" until they suffice. If another
    program teaches STATE meanwhile, the command recognises the new objects. It ends with Ctrl-C,
    or when a video file ends.
    """
    for option in ("mqtt_ca", "label_sensors", "image", "forget_discovery"):
        if click.get_current_context().params[option] and not mqtt:
            raise click.UsageError(f"--{option.replace('_', '-')} requires --mqtt")
    publishing: Callable[[], AbstractContextManager[Any]] = nullcontext
    if mqtt:
        from robocle.watch.broker import PASSWORD_VARIABLE, Broker
        from robocle.watch.home_assistant import Device
        from robocle.watch.mqtt import Publisher, forget

        broker = Broker.parse(mqtt, os.environ.get(PASSWORD_VARIABLE, ""), mqtt_ca)
        device = Device(name or state.stem, topic_prefix, discovery_prefix, label_sensors, image)
        if forget_discovery:
            removed = forget(broker, device)
            hint = "" if removed else ": check --name and the prefixes"
            what = f"{plural(removed, 'message')} of the camera {device.name}"
            return echo(f"removed {what} from {broker}{hint}")
        publishing = partial(Publisher, broker, device)
    if finder and box:
        raise click.UsageError("--finder looks at the whole frame: leave out --box")
    if camera is None:
        raise click.UsageError("Missing option '--camera'.")
    with activity("starting"):
        from robocle.cameras import Frame, open_camera
        from robocle.finders import finder as finder_of
        from robocle.learner import Learner
        from robocle.learner.finding import Find
        from robocle.recognition.temporal_filter import TemporalFilter
        from robocle.types import Prediction
        from robocle.watch import observations

    require_file(state)

    with ExitStack() as stack:
        publisher = stack.enter_context(publishing())
        with activity("loading the backbone"):
            learner = stack.enter_context(Learner.open(state))
            if not learner.labels:
                raise NothingTaughtError
            if finder:
                learner.finder = finder_of(finder)
        source = stack.enter_context(open_camera(camera, loop=loop, reconnect=True))
        before = None

        def recognised(frame: Frame) -> Prediction:
            try:
                return learner.predict(frame.pixels, false_accept=false_accept, box=box)
            except NothingTaughtError:  # another program has made the state forget everything
                return Prediction.of_nothing("nothing is taught any more")

        def found(frame: Frame) -> list[Find]:
            try:
                return learner.find(frame.pixels, false_accept=false_accept)
            except NothingTaughtError:
                height, width = frame.pixels.shape[:2]
                return [Find((0.0, 0.0, float(width), float(height)), recognised(frame))]

        try:
            for seen in observations(
                source, recognised, TemporalFilter(), every, found if finder else None
            ):
                if publisher:
                    publisher.publish(seen, learner.labels)
                if not changes or (seen.state, seen.nothing) != before:
                    echo_json(seen.as_values()) if as_json else echo(seen.as_line())
                before = seen.state, seen.nothing
        except Interrupted as request:
            if request.exit_code != 130:  # SIGTERM, not Ctrl-C
                raise
            print_error("stopped")


@main.command(short_help="Open a page to teach objects with a camera.")
@click.argument("state", type=StatePath, default="home.robocle")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="The address to listen on. With 0.0.0.0, other devices can open the page; they "
              "need the token that is printed.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="The port to listen on; 0 for any free one.")  # fmt: skip
@click.option("--https", is_flag=True,
              help="Encrypt, with a certificate made for this machine. Browsers on other devices, "
              "such as phones, use their camera only then.")  # fmt: skip
@click.option("--token", default="", metavar="TEXT", envvar="ROBOCLE_TOKEN", show_envvar=True,
              help="The token that clients must send.  [default: none on this machine alone, "
              "otherwise a random one]")  # fmt: skip
@click.option("--camera", default="", metavar="N|URL|FILE",
              help="Also offer a camera of this machine or robot: its number, an RTSP or MJPEG "
              "URL, or a video file. Needs robocle[camera].")  # fmt: skip
@click.option("--allow-host", "allowed_hosts", multiple=True, metavar="NAME",
              help="A further name of this server.")  # fmt: skip
@click.option("--proxy", default="", metavar="URL",
              help="The address of the page behind a proxy on this machine, such as nginx, "
              "whose headers name the sender of a request.")  # fmt: skip
@click.option("--finder", default="", metavar="SPEC",
              help="The finder of boxes around objects, such as onnx:picodet.onnx.")  # fmt: skip
@click.option("--profile", type=click.Choice(list(PROFILES)), default=DEFAULT_PROFILE,
              show_default=True, help="The parts of a new state: speed or accuracy.")  # fmt: skip
@click.option("--browser/--no-browser", "opens_browser", default=True,
              help="Whether to open the page in a browser.  [default: yes]")  # fmt: skip
@false_accept_option
def serve(state: Path, **settings: Any) -> None:
    """Open a page on which STATE is taught with a camera; it shows live what STATE recognises.

    STATE is created if it does not exist. Everything that is taught is on disk at once. Other
    programs may teach STATE meanwhile, and the page shows it. The page and its HTTP API are for
    this machine alone, unless --host says otherwise.
    """
    try:
        from robocle.web.server import Settings, serve
    except ImportError as error:
        raise MissingExtraError("web", f"the teach page needs {error.name}") from error

    serve(state, Settings(**settings), echo)


class RosCommand(click.Command):
    """A command whose arguments from --ros-args on belong to ROS."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments of ROS from being read as options."""
        first = args.index(ROS_ARGUMENTS) if ROS_ARGUMENTS in args else len(args)
        ctx.obj = args[first:]
        return super().parse_args(ctx, args[:first])


@main.command(short_help="Run the ROS 2 node.", cls=RosCommand)
@click.option("--no-autostart", is_flag=True,
              help="Wait for a lifecycle manager to configure and activate the node.")  # fmt: skip
@click.argument("state", type=StatePath, required=False)
@click.pass_obj
def ros(ros_arguments: list[str], no_autostart: bool, state: Path | None) -> None:
    """Run a ROS 2 lifecycle node that learns and recognises objects in the images of a camera.

    STATE is created if it does not exist. The parameter `state` can name it instead. Arguments
    after --ros-args go to ROS:

        robocle ros home.robocle --ros-args -r image:=/camera/image_raw

    rclpy comes from the robot's distribution: source its setup file first.
    """
    from robocle.ros import run

    run(ros_arguments, None if state is None else str(state), autostart=not no_autostart)
