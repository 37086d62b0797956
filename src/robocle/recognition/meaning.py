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
from robocle.classifiers.streaming import softmax
from robocle.recognition import NEVER_UNKNOWN, require_rate
from robocle.recognition.decision import Decision
from robocle.types import SURE, LabelNumbers, Prediction, Scores


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of one embedding, and what they mean."""

    labels: tuple[str, ...]
    scores: Scores
    familiarity: float
    """How much the picture looks like something taught; without a world, its best score."""
    decision: Decision | None
    """Without one, every object counts as known and none as sure; the confidence is the softmax of
    the scores, or 0.5 for a single label."""

    def prediction(self, false_accept: float, nothing: str = "") -> Prediction:
        """Return the prediction.

        Args:
            false_accept: The rate, as in `Learner.predict`.
            nothing: Why the picture shows no object; empty if it may show one.

        Raises:
            SpecError: The rate is out of range.
        """
        require_rate(false_accept)
        row = int(self.scores.argmax())
        nearest = self.labels[row]
        # A copy: a classifier may go on with its array, or have it from a much larger one.
        scores = LabelNumbers(self.labels, np.array(self.scores, np.float64)).unread()
        if nothing and false_accept < NEVER_UNKNOWN:
            none = LabelNumbers(self.labels, np.zeros(len(self.labels))).unread()
            return Prediction(None, 0.0, scores, nearest, 0.0, none, nothing, self.familiarity)
        if self.decision is None:
            known, temperature, is_known = known_without_decision(len(self.labels)), 1.0, True
        else:
            known = self.decision.probability_known(self.familiarity)
            temperature = self.decision.temperature
            is_known = self.familiarity >= self.decision.threshold(false_accept)
        confidences = known * softmax(self.scores / temperature)
        confidence = float(confidences[row])
        return Prediction(
            nearest if is_known else None,
            confidence,
            scores,
            nearest,
            known,
            LabelNumbers(self.labels, confidences).unread(),
            familiarity=self.familiarity,
            sure=self.decision is not None and is_known and confidence >= SURE,
        )


def known_without_decision(labels: int) -> float:
    """Return the probability of a known object if there is no decision.

    Args:
        labels: The number of labels. With one there is nothing to compare with.
    """
    return 1.0 if labels > 1 else 0.5


def scored(
    classifier: StreamingClassifier, embeddings: NDArray[Any], decision: Decision | None
) -> list[Scored]:
    """Return the scores of some pictures, and what they mean.

    Args:
        classifier: The classifier.
        embeddings: The embeddings of the pictures, (n, width).
        decision: The decision of the classifier.
    """
    answer = classifier.answer()
    if answer is not None:
        scores, familiarity = answer.scores_and_familiarity(np.asarray(embeddings, np.float64))
    else:
        scores = classifier.scores(embeddings)
        familiarity = scores.max(axis=1)
    pairs = zip(scores, familiarity.tolist(), strict=True)
    return [Scored(classifier.labels, *pair, decision) for pair in pairs]


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
