"""What predictions need after a change of a learner, and what the scores of an embedding mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.samples import require_width
from robocle.classifiers.slda.answer import Answer
from robocle.label_numbers import LabelNumbers
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import recognise
from robocle.recognition.rates import NEVER_UNKNOWN
from robocle.store.state import Position
from robocle.types import Prediction, Scores


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
        scores = LabelNumbers(self.labels, np.array(self.scores, np.float64))
        if nothing and false_accept < NEVER_UNKNOWN:
            none = LabelNumbers(self.labels, np.zeros(len(self.labels)))
            return Prediction.of_numbers(
                None, 0.0, scores, nearest, 0.0, none, nothing, self.familiarity
            )
        label = nearest if found.is_known else None
        confidences = LabelNumbers(self.labels, found.confidences)
        return Prediction.of_numbers(
            label,
            found.confidence,
            scores,
            nearest,
            found.known,
            confidences,
            "",
            self.familiarity,
            found.is_sure,
        )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What predictions need after some change. It never changes, so threads share it."""

    position: Position
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
