"""Messages: rows of the table of samples, decisions on their labels, and badges of labels.

A message is one line of JSON, and bytes: the embedding of a sample, or the ids that a decision is
about. It may come from anyone who may publish, so nothing in it is believed: it must satisfy what
holds for a row of a state file.

The subject says what a message is: `robocle.FLEET.PARTS.KIND.ROBOT`. PARTS is a fingerprint of what
an embedding depends on, so a robot never receives embeddings of another kind.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from robocle._internal.wording import one_line
from robocle.classifiers.labels import plain_label, require_badge
from robocle.classifiers.samples import LARGEST
from robocle.errors import FleetError
from robocle.learner.pipeline import Parts
from robocle.store.records import LATEST, UNREADABLE, Row, unpacked

VERSION = 1
ID = 16
MOST_IDS = 4096
"""How many samples a message decides on, at most: it must not be larger than a server accepts."""
LONGEST = 10_000
"""The longest first line of a message."""
EVERYONE = "all"
"""The group that every robot is in."""
RELEASED = 1_790_000_000
"""A time in 2026, in seconds since 1970: no clock that is set shows an earlier one."""
AHEAD = 10 * 365 * 86400
"""How many seconds a message may be dated ahead. Robots decide later than all they know, so one
that was dated at the end of time would let no decision be later than another for ever."""

Kind = Literal["sample", "decision", "pin", "hello"]
KINDS = ("sample", "decision", "pin", "hello")


class Received(NamedTuple):
    """A message of the log."""

    sequence: int
    kind: Kind
    robot: str
    """Who published it; of a pin, the group of robots that it is for."""
    payload: bytes
    time: int = 0
    """When the server received it, in microseconds since 1970."""


@dataclass(frozen=True)
class Decision:
    """A decision on the label of samples, or on the badge of a label."""

    ids: tuple[bytes, ...]
    """Of the samples; or one `badge_id`."""
    label: str | None
    """The label, or the badge. None removes the samples, or the badge."""
    decided: int

    @property
    def order(self) -> tuple[int, str]:
        """What decides between two decisions: the larger one wins."""
        return self.decided, self.label or ""

    @property
    def message_id(self) -> str:
        """What the server recognises a message by that is published again."""
        which = hashlib.blake2b(b"".join(self.ids), digest_size=ID).hexdigest()
        label = hashlib.blake2b((self.label or "").encode(), digest_size=4).hexdigest()
        return f"{which}-{self.decided}-{label}"


def badge_id(label: str) -> bytes:
    """Return the id of the badge of a label in decisions, longer than that of a sample."""
    return bytes(ID) + label.encode()


def label_of_badge(id: bytes) -> str:
    """Return the label whose badge has an id; empty for the id of a sample.

    >>> label_of_badge(badge_id("mug"))
    'mug'
    """
    return id[ID:].decode()


def require_subject_name(what: str, text: str) -> str:
    """Return a name that can be part of a subject.

    Raises:
        FleetError: It cannot.

    >>> require_subject_name("robot", "kitchen robot")
    Traceback (most recent call last):
    robocle.errors.FleetError: 'kitchen robot' cannot be the name of a robot: use 1 to 64 letters, digits, - and _
    """  # noqa: E501
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise FleetError(
            f"{text[:80]!r} cannot be the name of a {what}: use 1 to 64 letters, digits, - and _"
        )
    return text


def fingerprint(parts: Parts) -> str:
    """Return what the embeddings of a learner depend on, as part of a subject."""
    kinds = parts.fingerprint, parts.preprocessing, parts.pooling, parts.views
    return hashlib.blake2b(json.dumps(kinds).encode(), digest_size=8).hexdigest()


def sample_message(row: Row) -> bytes:
    """Return the message about a sample."""
    head = {
        "id": row.id.hex(), "origin": row.origin.hex(), "label": row.label, "decided": row.decided,
        "time": row.time, "quality": row.quality, "sketch": row.sketch and row.sketch.hex(),
        "crc": row.crc, "bits": row.bits,
    }  # fmt: skip
    return written(head, row.embedding or b"")


def decision_message(decision: Decision) -> bytes:
    """Return the message about a decision."""
    if label := label_of_badge(decision.ids[0]):
        badge = decision.label or ""
        return written({"label": label, "badge": badge, "decided": decision.decided})
    head = {"label": decision.label, "decided": decision.decided}
    return written(head, b"".join(decision.ids))


def hello_message(parts: Parts) -> bytes:
    """Return the message of a robot that joins."""
    return written({"parts": asdict(parts)})


def written(head: Mapping[str, object], body: bytes = b"") -> bytes:
    """Return a message."""
    return json.dumps({"version": VERSION, **head}, ensure_ascii=False).encode() + b"\n" + body


def read(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the first line of a message, and the bytes that follow.

    Raises:
        FleetError: It is no message.
    """
    line, newline, body = payload.partition(b"\n")
    try:
        head = json.loads(line) if newline and len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or type(head.get("version")) is not int:
        raise FleetError("it is no message of robocle")
    if head["version"] != VERSION:
        raise FleetError(f"it has version {head['version']}, and this robocle reads {VERSION}")
    return head, body


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Refuse a message whose values cannot be used."""
    try:
        yield
    except (KeyError, *UNREADABLE) as error:
        raise FleetError(f"it has no {what} ({one_line(error, 100)})") from error


def read_sample(payload: bytes) -> tuple[Row, NDArray[Any]]:
    """Return the row that a message has, and its embedding.

    Raises:
        FleetError: It is not one that a state could have.
    """
    head, body = read(payload)
    with _refusing("sample"):
        label, sketch, quality = plain_label(head["label"]), head["sketch"], head["quality"]
        if not (quality is None or (isinstance(quality, str) and len(quality) < 200)):
            raise ValueError("its faults are no text")
        if not str(quality or "").isprintable():
            raise ValueError("its faults are no text")
        row = Row(
            None, _id(head["id"]), _id(head["origin"]), label, _time(head["decided"]),
            _time(head["time"]), 1, 1, None, quality, sketch and bytes.fromhex(sketch),
            head["crc"], head["bits"], body,
        )  # fmt: skip
        if row.sketch is not None and len(row.sketch) != 64:
            raise ValueError("its sketch has another size")
        if type(row.bits) is not int or row.bits not in (32, 64):
            raise ValueError("its numbers have another size")
        return row, unpacked(row.embedding, row.crc, row.bits, LARGEST)


def read_decision(payload: bytes) -> Decision:
    """Return the decision that a message has.

    Raises:
        FleetError: It has none.
    """
    head, body = read(payload)
    with _refusing("decision"):
        if "badge" in head:
            badge, about = require_badge(head["badge"]), badge_id(plain_label(head["label"]))
            return Decision((about,), badge or None, _time(head["decided"]))
        label = None if head["label"] is None else plain_label(head["label"])
        ids = tuple(body[at : at + ID] for at in range(0, len(body), ID))
        if not 0 < len(body) <= ID * MOST_IDS or len(ids[-1]) < ID:
            raise ValueError("ids that are not whole")
        return Decision(ids, label, _time(head["decided"]))


def read_pin(payload: bytes) -> int:
    """Return the sequence that a pin names; 0 if it lets robots follow to the end.

    Raises:
        FleetError: It names none.
    """
    sequence = read(payload)[0].get("sequence")
    if type(sequence) is not int or not 0 <= sequence <= LATEST:
        raise FleetError("it names no sequence")
    return sequence


def read_hello(payload: bytes) -> Parts:
    """Return the parts of a robot that joined.

    Raises:
        FleetError: It names none.
    """
    values = read(payload)[0].get("parts")
    if not isinstance(values, dict) or not all(
        isinstance(each, str) and each.isprintable() and len(each) <= 1000
        for each in (*values, *values.values())
    ):
        raise FleetError("it names no parts")
    try:
        return Parts(**values)
    except TypeError as error:
        raise FleetError("it names other parts") from error


def _id(text: object) -> bytes:
    id = bytes.fromhex(text) if isinstance(text, str) else b""
    if len(id) != ID or id.hex() != text:
        raise ValueError("an id that is none")
    return id


def _time(value: object) -> int:
    if type(value) is not int or not 0 < value <= LATEST:
        raise ValueError("a time that is none")
    if value > (max(time.time(), RELEASED) + AHEAD) * 1e6:
        raise ValueError("a time more than ten years ahead")
    return value
