"""Answers of the server, made from the values that the learner returns.

The description of the API is generated from these models, and from the dataclasses of the learner
that they contain.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

import robocle
from robocle import types
from robocle._internal.wording import plural
from robocle.images.quality import Kind
from robocle.learner import Learner
from robocle.recognition.explanation import Explanation
from robocle.recognition.readiness import ConfusablePair, LabelReadiness, Readiness
from robocle.store.records import Step

GOAL = 5
"""How many pictures of an object the page asks for."""
SHOWN_STEPS = 50
"""How many steps that can be undone or redone are listed."""

Count = Annotated[int, Field(ge=0)]


class _Answer(BaseModel):
    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True, frozen=True)


class Health(_Answer):
    """The server answers."""

    status: str = "ok"
    robocle: str = robocle.__version__


class Session(_Answer):
    """The browser has its cookie."""

    status: str = "ok"


class Complaint(_Answer):
    """A fault of a picture."""

    kind: Kind
    advice: str
    label: str = ""
    """the label of the picture that it repeats"""


class Refusal(_Answer):
    """Why a request was refused, in one line."""

    error: str
    complaints: list[Complaint] = []


class Label(_Answer):
    """What was taught of an object."""

    label: str
    pictures: Count
    ready: bool
    advice: str
    badge: str = ""
    """the emoji or colour that was chosen for it"""

    @classmethod
    def of(cls, label: str, pictures: int, found: LabelReadiness | None, badge: str) -> "Label":
        """Return a label: ready if it was taught enough and is distinguished from the others."""
        ready = found is not None and found.pictures >= GOAL and found.is_ready
        words = advice(pictures, found)
        return cls(label=label, pictures=pictures, ready=ready, advice=words, badge=badge)


class Labels(_Answer):
    """All labels."""

    labels: list[Label]


class Knowledge(_Answer):
    """What the learner knows, as every client receives it after each change."""

    version: Count
    labels: list[Label]
    confusable: list[ConfusablePair]
    unknown: Count
    """pictures taught as unknown"""
    advice: str
    """what would help as a whole; empty if nothing"""
    steps: list[Step]
    undoable: Count
    undone: list[Step]

    @classmethod
    def of(cls, learner: Learner, found: Readiness | None, version: int) -> "Knowledge":
        """Return what a learner knows.

        Args:
            learner: The learner.
            found: Its readiness, which may be older than its last change; None if it has none.
            version: The version of what was taught.
        """
        counts = learner.counts
        ready = {each.label: each for each in found.labels} if found else {}
        badges = learner.badges
        labels = [
            Label.of(each, number, ready.get(each), badges.get(each, ""))
            for each, number in counts.items()
        ]
        pairs = found.confusable if found else ()
        return cls(
            version=version,
            labels=labels,
            confusable=[each for each in pairs if each.label in counts],
            unknown=learner.unknown_taught,
            advice=found.advice if found and counts else "",
            steps=list(learner.last_steps(SHOWN_STEPS)),
            undoable=learner.undoable,
            undone=list(learner.undone[:SHOWN_STEPS]),
        )


class State(Knowledge):
    """What the learner knows, and where that is stored."""

    file: str
    bytes: Count
    robocle: str = robocle.__version__
    licence: str = "Apache-2.0"
    parts: dict[str, str]


class Heat(_Answer):
    """Where the evidence for the nearest label is, in percent, row by row."""

    rows: Count
    columns: Count
    values: list[Count]

    @classmethod
    def of(cls, heat: NDArray[np.float32] | None) -> "Heat | None":
        """Return a heat map, if there is one."""
        if heat is None:
            return None
        rows, columns = heat.shape
        values = (100 * heat).round().astype(int).ravel().tolist()
        return cls(rows=rows, columns=columns, values=values)


class Prediction(_Answer):
    """What the learner predicts for a picture. `reason` and `heat` are those of an explanation."""

    label: str | None
    """null for an unknown object"""
    verdict: types.Verdict
    sure: bool
    """whether the label can be relied on"""
    nothing: str
    """why there is nothing to see; empty otherwise"""
    confidence: float
    nearest: str
    known_probability: float
    unknown_probability: float
    familiarity: float
    confidences: dict[str, float]
    """those of the best labels, the best first"""
    reason: str = ""
    """why it was called unknown; with `explain`"""
    heat: Heat | None = None

    @classmethod
    def of(cls, found: types.Prediction | Explanation, top: int) -> "Prediction":
        """Return a prediction, with the confidences of so many labels."""
        explained: dict[str, Any] = {}
        if isinstance(found, Explanation):
            explained = {"reason": found.reason, "heat": Heat.of(found.heat)}
            found = found.prediction
        own = cls.model_fields.keys() - {"confidences", "reason", "heat"}
        values = {name: getattr(found, name) for name in own}
        return cls(**values, confidences=dict(found.top(top)), **explained)


class Find(_Answer):
    """An object in a picture."""

    box: tuple[float, float, float, float]
    """x, y, width and height in pixels of the upright picture"""
    verdict: types.Verdict
    label: str | None
    sure: bool
    likelihood: str
    """how to read a label that is not sure: probably or perhaps"""
    nothing: str
    confidence: float
    nearest: str
    confidences: dict[str, float]
    unknown_probability: float


class Finds(_Answer):
    """The objects in a picture, the best first; the whole picture if no box shows one."""

    finds: list[Find]


class Sample(_Answer):
    """A taught picture, of which only its embedding is kept."""

    id: str
    time: float
    recognised: float | None
    """the probability of its label if it had not been taught; null if that cannot be determined"""
    taken_for: str | None
    """the label that it is taken for if it had not been taught, if that is another one"""
    faults: list[str]


class Samples(_Answer):
    """The pictures of a label, the last one first."""

    label: str
    samples: list[Sample]


class _Changed(_Answer):
    step: str
    """the id of the step, for `undo`; empty if nothing was changed"""
    version: Count


class Taught(_Changed):
    """A picture was taught."""

    label: str
    pictures: Count
    complaints: list[Complaint]
    similar: str
    """another label that differs in upper and lower case or in spaces only, if this one is new"""
    repeated: bool
    """whether it had been taught before"""


class Undone(_Answer):
    """A step was undone."""

    undone: str
    version: Count


class Removed(_Changed):
    """Pictures were removed."""

    removed: Count


class Badges(_Answer):
    """A badge was chosen."""

    label: str
    badge: str
    version: Count


class Redone(_Answer):
    """A step was redone."""

    redone: str
    version: Count


class Forgot(_Changed):
    """A label was forgotten."""

    forgot: str


class Renamed(_Changed):
    """A label was renamed."""

    renamed: str
    new_label: str


class Merged(_Changed):
    """A state was merged."""

    merged: str


class Condition(_Answer):
    """How often a picture was recognised under one corruption."""

    name: str
    in_words: str
    advice: str
    right: Count
    unknown: Count
    wrong: Count


class Check(_Answer):
    """How often a picture was recognised under each corruption."""

    label: str
    taught: bool
    conditions: list[Condition]


def advice(pictures: int, readiness: LabelReadiness | None) -> str:
    """Return in a few words what to do next with a label.

    >>> advice(3, None), advice(5, LabelReadiness("mug", 5, 5, 5))
    ('show 2 more', 'ready')
    >>> advice(6, LabelReadiness("mug", 6, 6, 2)), advice(6, None)
    ('show it turned or moved', '6 pictures')
    """
    if pictures < GOAL:
        return f"show {GOAL - pictures} more"
    if readiness is None or not readiness.left_out:
        return plural(pictures, "picture")
    return "ready" if readiness.is_ready else "show it turned or moved"
