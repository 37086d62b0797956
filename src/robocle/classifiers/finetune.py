"""FT: fine-tuning of a linear softmax layer. It forgets, and is the paper's lower bound."""

from collections.abc import Mapping

import numpy as np

from robocle.classifiers.softmax_layer import SoftmaxLayer
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Shared, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class FineTuning(StreamingClassifier):
    """A linear softmax layer, one SGD step per sample; nothing prevents catastrophic forgetting.

    Args:
        rate: The learning rate.
        seed: The seed of the initial weights.
    """

    def __init__(self, rate: float = 0.001, seed: int = 0) -> None:
        super().__init__()
        require_between("rate", rate, 1e-9, 1e3)
        require_between("seed", seed, 0, 2**63)
        self.rate = rate
        self.seed = seed
        self._layer = SoftmaxLayer(rate, seed)

    def _add_row(self) -> None:
        self._layer.add_row(self.width or 0)

    def _learn(self, sample: Vector, row: int) -> None:
        self._layer.step(np.append(sample, 1.0)[None], np.array([row]))

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._layer.logits(embeddings)

    def _forget(self, row: int) -> None:
        self._layer.remove_row(row)

    def _state(self) -> Arrays:
        return self._layer.state()

    def _restore(self, state: ClassifierState) -> int | None:
        self._layer = SoftmaxLayer(self.rate, self.seed)
        return self._layer.restore(state)

    def _array_owners(self) -> Mapping[str, Ownership]:
        # Every step changes the weights of all classes.
        return dict.fromkeys(("weights", "momenta", "drawn"), Shared())
