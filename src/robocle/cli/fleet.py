"""Commands for fleets: robots that share what they are taught through a server of NATS."""

import os
from collections.abc import Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from robocle.cli.app import Interrupted, NonemptyPath, StatePath, main, plural
from robocle.cli.edit import edited, require_file
from robocle.cli.options import with_parameters
from robocle.cli.output import echo, echo_json, echo_lines
from robocle.errors import FleetError

if TYPE_CHECKING:
    from robocle.fleet.server import Server


Result = TypeVar("Result")


def _finished(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end and return its result."""
    import asyncio  # takes as long to import as all commands

    return asyncio.run(coroutine)


@main.group(short_help="Share what robots are taught.")
def fleet() -> None:
    """Share what robots are taught through a server of NATS with JetStream.

    Nothing is shared before a robot joins a fleet.
    """


login_options = with_parameters(
    click.option("--creds", type=NonemptyPath(dir_okay=False), metavar="FILE",
                 help="The credentials that the operator of the server has made."),
    click.option("--tls-ca", type=NonemptyPath(dir_okay=False), metavar="FILE",
                 help="The certificate of the authority that signed the server's, if it is not one "
                 "of the system's."),
)  # fmt: skip
server_options = with_parameters(
    click.argument("url", metavar="URL"),
    click.option("--fleet", "name", required=True, metavar="NAME", help="The name of the fleet."),
    login_options,
)


def _server(url: str, name: str, creds: Path | None, tls_ca: Path | None) -> "Server":
    from robocle.fleet.server import PASSWORD_VARIABLE, Server

    return Server.parse(url, name, os.environ.get(PASSWORD_VARIABLE, ""), creds, tls_ca)


@fleet.command(short_help="Share what a state is taught, until Ctrl-C.")
@click.argument("state", type=StatePath)
@server_options
@click.option(
    "--robot",
    default="",
    metavar="NAME",
    help="The name of this robot in the fleet.  [default: that of STATE, and a number]",
)
@click.option(
    "--labels",
    multiple=True,
    metavar="LABEL",
    help="Share only this label. May be given several times.",
)
@click.option(
    "--private",
    multiple=True,
    metavar="LABEL",
    help="Do not publish this label. May be given several times.",
)
@click.option("--read-only", is_flag=True, help="Publish nothing.")
@click.option(
    "--group",
    default="all",
    metavar="NAME",
    help="The group of this robot, for `robocle fleet pin`.",
)
@click.option("--once", is_flag=True, help="End when everything is exchanged.")  # fmt: skip
def join(
    state: Path, url: str, name: str, creds: Path | None, tls_ca: Path | None, robot: str,
    labels: tuple[str, ...], private: tuple[str, ...], read_only: bool, group: str, once: bool,
) -> None:  # fmt: skip
    """Publish what STATE is taught to a fleet, and take in what others are taught.

    Other programs may use STATE meanwhile: the page, watch, a ROS node, commands. Without a
    connection they go on, and everything is exchanged when there is one again. If there is no
    STATE, it is created with the parts of the fleet.

    URL is nats://[USER@]HOST[:PORT], or tls:// for an encrypted connection. The password of USER is
    in the variable ROBOCLE_FLEET_PASSWORD. Everybody in the fleet receives the labels and the
    embeddings of what is shared, which reveal what the pictures show.
    """
    from robocle.fleet.followed import Sharing
    from robocle.fleet.member import Member
    from robocle.fleet.operating import created_like

    for each in (*labels, *private):
        _require_one_label(state, each)
    server = _server(url, name, creds, tls_ca)
    if not os.path.exists(state):
        _finished(created_like(server, state))
    sharing = Sharing(labels, private, read_only, group)
    member = Member(state, server, robot, sharing, echo)
    try:
        _finished(member.run(once))
    except Interrupted:
        if once:
            raise
        echo("stopped; what is taught meanwhile is exchanged when the state joins again")
    finally:
        member.close()


def _require_one_label(state: Path, label: str) -> None:
    """Refuse several labels with commas, which would be taken for one that nobody has."""
    if "," not in label:
        return
    with edited(state) if os.path.exists(state) else nullcontext() as learner:
        if not learner or label not in learner.counts:
            raise FleetError(f"{state} has no label {label!r}: give the option once per label")


@fleet.command(short_help="Show the robots of a fleet.")
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per robot.")
def status(url: str, name: str, creds: Path | None, tls_ca: Path | None, as_json: bool) -> None:
    """Show the robots of a fleet: what each has published, and what it has not taken in yet."""
    from robocle.fleet.operating import Robot, robots_of
    from robocle.reports.tables import text_table

    found = _finished(robots_of(_server(url, name, creds, tls_ca)))
    if as_json:
        for each in found:
            echo_json(each._asdict())
        return
    rows = [[*each[:-1], each.pin or "latest"] for each in found]
    echo_lines(text_table(rows, list(Robot._fields), align="lrrrlllr"))


@fleet.command(short_help="Show who has taught, removed or renamed what.")
@server_options
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, metavar="N",
              help="How many messages to show.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per message.")
def log(
    url: str, name: str, creds: Path | None, tls_ca: Path | None, last: int, as_json: bool
) -> None:
    """Show the last messages of a fleet: their sequence, time, robot and what it has decided."""
    from robocle.fleet.operating import history

    for each in _finished(history(_server(url, name, creds, tls_ca), last)):
        echo_json(each._asdict()) if as_json else echo("\t".join(map(str, each[:4])))


@fleet.command(short_help="Let robots follow a fleet up to a point.")
@click.argument("point", metavar="NAME@SEQUENCE")
@click.argument("url", metavar="URL")
@login_options
@click.option("--group", default="all", metavar="NAME", help="Only the robots of this group.")
def pin(point: str, url: str, creds: Path | None, tls_ca: Path | None, group: str) -> None:
    """Let robots follow the log of a fleet up to a message, as if nothing had come after it.

    `robocle fleet log` lists the sequences of messages. NAME@latest lets robots follow to the end
    again. If there are several pins, the last one for the group of a robot, or for all, holds. A
    robot keeps its own lessons after a pin.
    """
    from robocle.fleet.operating import pinned, point_of

    name, sequence = point_of(point)
    count = _finished(pinned(_server(url, name, creds, tls_ca), sequence, group))
    where = f"message {sequence}" if sequence else "the end"
    few = "" if count else f": no robot of {name} is in this group yet"
    echo(f"robots of group {group} of {name} follow to {where} ({plural(count, 'robot')}){few}")


@fleet.command(short_help="Erase removed samples from the log.")
@server_options
def erase(url: str, name: str, creds: Path | None, tls_ca: Path | None) -> None:
    """Erase the embeddings of removed samples from the log of a fleet.

    The server overwrites them. No undo and no pin brings them back to other robots.
    """
    from robocle.fleet.operating import erase_removed

    count = _finished(erase_removed(_server(url, name, creds, tls_ca)))
    echo(f"erased {plural(count, 'removed sample')} from the log of {name}")


@fleet.command(short_help="Leave a fleet.")
@click.argument("state", type=StatePath)
def leave(state: Path) -> None:
    """Let STATE leave its fleet.

    What it has published stays there, and STATE keeps what it knows.
    """
    from robocle.fleet.operating import leave_fleet

    require_file(state)
    echo(_finished(leave_fleet(state)))


@fleet.command(short_help="List labels that may mean the same.")
@click.argument("state", type=StatePath)
def suggest(state: Path) -> None:
    """List pairs of labels of STATE whose pictures are mistaken for each other.

    `robocle rename` joins two labels. Every robot of the fleet follows.
    """
    from robocle.fleet.operating import same_labels

    with edited(state) as learner:
        pairs = same_labels(learner)
    for one, other, likelihood in pairs:
        echo(f"{one} and {other} are taken for each other ({likelihood:.0%}): "
             f"robocle rename {state} {one!r} {other!r} joins them")  # fmt: skip
    if not pairs:
        echo("no two labels are taken for each other")
