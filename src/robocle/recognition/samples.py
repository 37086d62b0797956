"""The taught pictures one by one: how well each is recognised, and which of them hurt.

A sample is judged by a classifier that was not taught it. It is doubtful if that classifier takes
it for another label, or if more of the other samples are recognised without it: it may have the
wrong label, show something else, or be too poor.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robocle.classifiers import StreamingClassifier
from robocle.classifiers.softmax import softmax
from robocle.recognition.decision import Decision

CANDIDATES = 64
"""Of how many samples, those that are recognised worst, the removal is tried."""


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
        """Whether it may hurt."""
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
    """Return the samples that hurt, the worst first.

    Args:
        classifier: The classifier.
        decision: Its decision. Without one, no sample is judged.
        most: How many samples to return at most.
        label: Their label; None for all labels.
    """
    found = [each for each in taught_samples(classifier, decision) if label in (None, each.label)]
    judged = [each for each in found if each.recognised is not None]
    worst = sorted(judged, key=lambda each: each.recognised or 0.0)[: max(CANDIDATES, 2 * most)]
    helped = classifier.recognised_without([each.id for each in worst])
    tried = [replace(each, would_help=more) for each, more in zip(worst, helped, strict=True)]
    doubtful = [each for each in tried if each.is_doubtful]
    doubtful.sort(key=lambda each: (-each.would_help, each.recognised))
    return doubtful[:most]
