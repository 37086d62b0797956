"""Readiness: how well the taught pictures are recognised when they are left out.

It tells whether a label was taught enough pictures, which labels are confused, and which pictures
lower the accuracy. All of it is computed from leave-one-out scores, which are the scores of the
taught samples by a classifier that did not learn them. They are valid only for the conditions in
which the objects were taught.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocle._internal.wording import plural
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.streaming import softmax
from robocle.recognition.decision import Decision
from robocle.types import Scores

# A label is ready if this fraction of its pictures is recognised when left out.
READY = 0.8
# Two labels are confusable if a picture of one is taken for the other with this probability.
CONFUSABLE = 0.1
MOST_PAIRS = 10
# From here on, pictures have so much in common that they were probably taken in one scene.
ONE_SCENE = 0.5
# So many pictures taught as unknown show what else there is in the scene.
ENOUGH_UNKNOWN = 5
# Of how many samples, those that are recognised worst, the removal is tried.
CANDIDATES = 64


@dataclass(frozen=True)
class LabelReadiness:
    """How well the pictures of one label are recognised when they are left out."""

    label: str
    pictures: int
    left_out: int
    """How many pictures were left out, one at a time."""
    recognised: int
    """How many of these were recognised."""

    @property
    def is_ready(self) -> bool:
        """Whether enough of the left-out pictures were recognised."""
        return self.left_out > 0 and self.recognised >= READY * self.left_out

    @property
    def advice(self) -> str:
        """What to do next; empty if nothing."""
        if self.is_ready:
            return ""
        if not self.left_out and self.pictures > 1:
            return "its pictures cannot be left out: its readiness is unknown"
        if not self.left_out:
            return "teach another picture: a single one cannot be left out"
        return "teach two more pictures, with the object turned or moved"


@dataclass(frozen=True)
class ConfusablePair:
    """Two labels that are easily confused."""

    label: str
    other: str
    likelihood: float
    """The probability of a mistake, in the worse of the two directions."""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return f"{self.label} <-> {self.other}: teach two more pictures of each, turned or moved"


@dataclass(frozen=True)
class Readiness:
    """The readiness of all labels, and the pairs that are easily confused."""

    labels: tuple[LabelReadiness, ...]
    confusable: tuple[ConfusablePair, ...]
    shared: float = 0.0
    """How familiar untaught objects of the same scene are, relative to taught ones, from 0 to 1."""
    unknown: int = 0
    """The number of pictures taught as unknown."""
    unknown_accepted: int = 0
    """How many of these would still be taken for a taught object."""

    @property
    def is_one_scene(self) -> bool:
        """Whether what was not taught may be taken for a taught object in the same scene."""
        return self.shared >= ONE_SCENE and self.unknown < ENOUGH_UNKNOWN

    @property
    def advice(self) -> str:
        """What would help as a whole, such as more labels; empty if nothing."""
        if len(self.labels) == 1 and not self.unknown:
            return (
                f"{self.labels[0].label!r} is the only label: similar objects are taken for it. "
                "Teach what it could be mistaken for under labels of their own, or as unknown"
            )
        if self.unknown_accepted > self.unknown / 2:
            return (
                f"{self.unknown_accepted} of {plural(self.unknown, 'picture')} taught as unknown "
                "would still be taken for a taught object, because they look like it: teach what "
                "they show under labels of their own"
            )
        if self.is_one_scene:
            return (
                f"the pictures have much in common ({self.shared:.0%}), such as the background: "
                "objects that you have not taught may be taken for these. Teach a few of them as "
                "unknown, and give a box around the object"
            )
        return ""


def readiness_of(
    classifier: StreamingClassifier, decision: Decision | None, unknown: int = 0
) -> Readiness | None:
    """Return the readiness of all labels; None if there are no leave-one-out scores.

    Args:
        classifier: The classifier.
        decision: Its decision; without one, no pair is called confusable.
        unknown: The number of pictures taught as unknown.

    Returns:
        The labels in the order they were taught, and the confusable pairs, worst first.
    """
    answer = classifier.answer() if classifier.labels else None
    if answer is None or answer.leave_one_out is None:
        return None
    counts = classifier.counts
    labels = tuple(counts)
    left_out, recognised = (np.zeros(len(labels), int) for _ in range(2))
    mistaken: dict[tuple[int, int], float] = {}
    for chunk in classifier.leave_out():  # the samples of a label are in the same chunk
        usable = ~chunk.singleton
        rows, scores = chunk.rows[usable], chunk.scores[usable]
        right = scores.argmax(axis=1) == rows if len(rows) else np.zeros(0, bool)
        if len(labels) == 1 and decision:  # the best label is right, but is it recognised?
            right &= chunk.familiarity[usable] >= decision.threshold()
        left_out += np.bincount(rows, minlength=len(labels))
        recognised += np.bincount(rows[right], minlength=len(labels))
        if decision:
            _add_mistaken(mistaken, rows, softmax(scores / decision.temperature))
    each = zip(labels, counts.values(), left_out.tolist(), recognised.tolist(), strict=True)
    pairs = sorted(mistaken.items(), key=lambda pair: -pair[1])[:MOST_PAIRS]
    return Readiness(
        tuple(LabelReadiness(*label) for label in each),
        tuple(ConfusablePair(labels[one], labels[other], p) for (one, other), p in pairs),
        decision.shared if decision else 0.0,
        unknown,
        decision.examples_accepted if decision else 0,
    )


def _add_mistaken(
    mistaken: dict[tuple[int, int], float], rows: NDArray[np.int64], probabilities: Scores
) -> None:
    """Add the pairs of labels that are confusable, with the larger of two probabilities.

    Args:
        mistaken: The probability of a mistake per pair; it is changed.
        rows: The label of each sample, ascending.
        probabilities: (samples, labels): what each sample is taken for.
    """
    classes, starts = np.unique(rows, return_index=True)
    if not len(classes):
        return
    sizes = np.diff(np.append(starts, len(rows)))
    means = np.add.reduceat(probabilities, starts, axis=0) / sizes[:, None]
    means[np.arange(len(classes)), classes] = 0
    for place, other in np.argwhere(means >= CONFUSABLE).tolist():
        one = int(classes[place])
        pair = min(one, other), max(one, other)
        mistaken[pair] = max(mistaken.get(pair, 0.0), float(means[place, other]))


@dataclass(frozen=True)
class TaughtSample:
    """A taught picture."""

    id: str
    """Its id, 32 hexadecimal digits."""
    label: str
    time: float
    """When it was taught, in seconds since 1970."""
    recognised: float | None = None
    """The probability of its label, among all labels, if it had not been taught; None if that
    cannot be determined, as for the only picture of a label."""
    taken_for: str | None = None
    """The label that it is taken for if it had not been taught, if that is another one."""
    would_help: int = 0
    """How many more of the other samples would be recognised without it. Only `doubtful` tries."""
    faults: tuple[str, ...] = ()
    """What was wrong with the picture when it was taught, such as "dark" or "blurred"."""

    @property
    def is_doubtful(self) -> bool:
        """Whether it may lower the accuracy."""
        return self.taken_for is not None or self.would_help > 0


def taught_samples(
    classifier: StreamingClassifier, decision: Decision | None
) -> list[TaughtSample]:
    """Return all samples that are kept, in the order in which they were taught.

    Args:
        classifier: The classifier.
        decision: Its decision. Without one, samples are not judged.
    """
    judged = dict(_judged(classifier, decision)) if decision is not None else {}
    found = []
    for each in classifier.samples:
        recognised, taken_for = judged.get(each.id, (None, None))
        faults = tuple(each.faults.split())
        sample = each.id, each.label, each.time, recognised, taken_for
        found.append(TaughtSample(*sample, faults=faults))
    return found


def _judged(
    classifier: StreamingClassifier, decision: Decision
) -> Iterator[tuple[str, tuple[float, str | None]]]:
    """Yield the id of each sample that can be left out, and how it is recognised."""
    labels = classifier.labels
    if len(labels) < 2:
        return
    for chunk in classifier.leave_out([each.id for each in classifier.samples]):
        likely = softmax(chunk.scores / decision.temperature)
        best = chunk.scores.argmax(axis=1)
        for place in np.flatnonzero(~chunk.singleton).tolist():
            own = int(chunk.rows[place])
            other = labels[best[place]] if best[place] != own else None
            yield chunk.ids[place], (float(likely[place, own]), other)


def doubtful_samples(
    classifier: StreamingClassifier,
    decision: Decision | None,
    most: int,
    label: str | None = None,
) -> list[TaughtSample]:
    """Return the samples that lower the accuracy, the worst first.

    Args:
        classifier: The classifier.
        decision: Its decision. Without one, no sample is judged.
        most: How many samples to return at most.
        label: Their label; None for all labels.
    """
    found = [each for each in taught_samples(classifier, decision) if label in (None, each.label)]
    judged = [each for each in found if each.recognised is not None]
    worst = sorted(judged, key=lambda each: each.recognised or 0.0)[: max(CANDIDATES, 2 * most)]
    helped = classifier.recognised_without([each.id for each in worst]) if worst else []
    tried = [replace(each, would_help=more) for each, more in zip(worst, helped, strict=True)]
    doubtful = [each for each in tried if each.is_doubtful]
    doubtful.sort(key=lambda each: (-each.would_help, each.recognised))
    return doubtful[:most]
