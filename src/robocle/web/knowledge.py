"""Knowledge: what a learner knows, as every client receives it after each change."""

from dataclasses import asdict
from typing import Any

from robocle._internal.wording import plural
from robocle.learner import Learner
from robocle.recognition.readiness import LabelReadiness, Readiness

GOAL = 5
"""How many pictures of an object the page asks for."""
SHOWN_STEPS = 50
"""How many steps that can be undone or redone are listed."""


def knowledge_of(learner: Learner, found: Readiness | None) -> dict[str, Any]:
    """Return the labels with their readiness, the confusable pairs and the steps to undo.

    Args:
        learner: The learner.
        found: Its readiness, which may be older than its last change; None if it has none.
    """
    counts, steps = learner.counts, learner.last_steps(SHOWN_STEPS)
    ready = {each.label: each for each in found.labels} if found else {}
    labels = [
        {
            "label": label,
            "pictures": pictures,
            "ready": is_ready(ready.get(label)),
            "advice": advice(pictures, ready.get(label)),
        }
        for label, pictures in counts.items()
    ]
    pairs = [each for each in (found.confusable if found else ()) if each.label in counts]
    confusable = [
        {"label": each.label, "other": each.other, "likelihood": round(each.likelihood, 3)}
        for each in pairs
    ]
    return {
        "labels": labels,
        "confusable": confusable,
        "unknown": learner.unknown_taught,
        "advice": found.advice if found and counts else "",
        "steps": [asdict(step) for step in steps],
        "undoable": learner.undoable,
        "undone": [asdict(step) for step in learner.undone[:SHOWN_STEPS]],
    }


def is_ready(readiness: LabelReadiness | None) -> bool:
    """Return whether a label was taught enough pictures and is recognised from the others."""
    return readiness is not None and readiness.pictures >= GOAL and readiness.is_ready


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
