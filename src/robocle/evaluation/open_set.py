"""Open-set evaluation: test pictures of known and of unknown objects.

Confidence and "unknown" are computed as a `Learner` computes them, by `robocle.recognition`. An
object is known if its label was taught.
"""

from typing import NamedTuple

import numpy as np

from robocle.backbones.world import World
from robocle.classifiers import StreamingClassifier
from robocle.evaluation.evaluation_set import EvaluationSet
from robocle.evaluation.loop import evaluate
from robocle.evaluation.metrics import OpenSetPredictions
from robocle.recognition import DEFAULT_RATE
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import recognised
from robocle.types import Embeddings


class _Prediction(NamedTuple):
    best_label: str
    score: float
    confidence: float
    rejected: bool


def evaluate_open_set(
    classifier: StreamingClassifier, test: EvaluationSet, world: World | None = None
) -> OpenSetPredictions:
    """Predict all pictures of a test, whether their labels were taught or not.

    Args:
        classifier: The classifier. If there is a world, it uses its pictures.
        test: The pictures.
        world: The world of the backbone and the pooling, if there is one.
    """
    decision = Decision.of(classifier.answer(), world)
    labels = classifier.labels

    def predict(embeddings: Embeddings) -> list[_Prediction]:
        found = recognised(classifier, embeddings, decision, DEFAULT_RATE)
        return [
            _Prediction(labels[each.row], each.familiarity, each.confidence, not each.is_known)
            for each in found
        ]

    found = evaluate(predict, test.batches(test.labels))
    predicted = found.predicted
    return OpenSetPredictions(
        is_known=np.array([label in labels for label in found.truth], bool),
        score=np.array([each.score for each in predicted], np.float64),
        confidence=np.array([each.confidence for each in predicted], np.float64),
        rejected=np.array([each.rejected for each in predicted], bool),
        correct=np.array(
            [each.best_label == label for each, label in zip(predicted, found.truth, strict=True)],
            bool,
        ),
    )
