"""What the scores of a picture mean: its label, whether it is known, and how sure that is.

A snapshot holds what predictions need after a change of a learner.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier
from robocle.classifiers.samples import require_width
from robocle.classifiers.slda.answer import Answer
from robocle.classifiers.softmax import softmax
from robocle.recognition import NEVER_UNKNOWN, require_rate
from robocle.recognition.decision import Decision
from robocle.types import SURE, LabelNumbers, Prediction, Scores


@dataclass(frozen=True)
class Recognition:
    """What the scores of one picture mean."""

    row: int
    """The index of the label with the best score."""
    confidence: float
    """The probability that this label is right, if half of all objects were taught."""
    known: float
    """The probability of a known object, if half of all objects were taught."""
    is_known: bool
    """Whether the familiarity reaches the threshold."""
    is_sure: bool
    """Whether it is known, and the confidence is at least SURE."""
    confidences: NDArray[np.float64]
    """The probability of each label. They sum to that of a known object."""
    familiarity: float
    """How much the picture looks like something taught; without a world, its best score."""


def recognise(
    scores: Scores, familiarity: float, decision: Decision | None, false_accept: float
) -> Recognition:
    """Interpret the scores of one picture.

    Args:
        scores: One score per label.
        familiarity: The familiarity of the picture; without a world, its best score.
        decision: The decision of the classifier. Without one, every object counts as known and none
            as sure; the confidence is the softmax of the scores, or 0.5 for a single label.
        false_accept: The rate, as in `Learner.predict`.

    Raises:
        SpecError: The rate is out of range.
    """
    require_rate(false_accept)
    row = int(scores.argmax())
    if decision is None:
        known, temperature, is_known = known_without_decision(len(scores)), 1.0, True
    else:
        known, temperature = decision.probability_known(familiarity), decision.temperature
        is_known = familiarity >= decision.threshold(false_accept)
    confidences = known * softmax(scores / temperature)
    best = float(confidences[row])
    is_sure = decision is not None and is_known and best >= SURE
    return Recognition(row, best, known, is_known, is_sure, confidences, familiarity)


def recognised(
    classifier: StreamingClassifier,
    embeddings: NDArray[Any],
    decision: Decision | None,
    false_accept: float,
) -> list[Recognition]:
    """Interpret the scores of some pictures; see `recognise`.

    Args:
        classifier: The classifier.
        embeddings: The embeddings of the pictures, (n, width).
        decision: The decision of the classifier.
        false_accept: The rate, as in `Learner.predict`.
    """
    answer = classifier.answer()
    if answer is not None:
        scores, familiarity = answer.scores_and_familiarity(np.asarray(embeddings, np.float64))
    else:
        scores = classifier.scores(embeddings)
        familiarity = scores.max(axis=1)
    pairs = zip(scores, familiarity.tolist(), strict=True)
    return [recognise(*pair, decision, false_accept) for pair in pairs]


def known_without_decision(labels: int) -> float:
    """Return the probability of a known object if there is no decision.

    Args:
        labels: The number of labels. With one there is nothing to compare with.
    """
    return 1.0 if labels > 1 else 0.5


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of one embedding, and what they mean."""

    labels: tuple[str, ...]
    scores: Scores
    familiarity: float
    decision: Decision | None

    def prediction(self, false_accept: float, nothing: str = "") -> Prediction:
        """Return the prediction.

        Args:
            false_accept: The rate, as in `Learner.predict`.
            nothing: Why the picture shows no object; empty if it may show one.

        Raises:
            SpecError: The rate is out of range.
        """
        found = recognise(self.scores, self.familiarity, self.decision, false_accept)
        nearest = self.labels[found.row]
        # A copy: a classifier may go on with its array, or have it from a much larger one.
        scores = LabelNumbers(self.labels, np.array(self.scores, np.float64)).unread()
        if nothing and false_accept < NEVER_UNKNOWN:
            none = LabelNumbers(self.labels, np.zeros(len(self.labels))).unread()
            return Prediction(None, 0.0, scores, nearest, 0.0, none, nothing, self.familiarity)
        return Prediction(
            nearest if found.is_known else None,
            found.confidence,
            scores,
            nearest,
            found.known,
            LabelNumbers(self.labels, found.confidences).unread(),
            familiarity=self.familiarity,
            sure=found.is_sure,
        )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What predictions need after some change. It never changes, so threads share it."""

    position: tuple[int, int]
    """Where the state was."""
    labels: tuple[str, ...]
    width: int
    answer: Answer
    decision: Decision | None

    def scored(self, values: NDArray[Any]) -> Scored:
        """Return the scores and the familiarity of one embedding.

        Raises:
            FeatureError: The embedding has another width than those taught.
        """
        require_width(values, self.width)
        embeddings = np.asarray(values[None], np.float64)
        scores, familiarity = self.answer.scores_and_familiarity(embeddings)
        return Scored(self.labels, scores[0], float(familiarity[0]), self.decision)
