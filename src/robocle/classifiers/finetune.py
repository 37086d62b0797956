"""FT: fine-tuning of a linear softmax layer. It forgets, and is the paper's lower bound.

The paper's base code knows the number of classes, and its softmax covers all of them from the first
step on: `classes=40`. A learner does not know it, and its softmax grows with the labels:
`classes=growing`. Taught class by class, their accuracies differ by more than ten points.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from robocle._internal.wording import plural
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.softmax import SoftmaxLayer
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import LabelError
from robocle.spec import require_between, require_choice, require_whole
from robocle.types import Scores

Classes = int | Literal["growing"]
"""The number of classes that a softmax covers from the start, or `growing` with the labels."""


class FineTuning(StreamingClassifier):
    """A linear softmax layer, one SGD step per sample; nothing prevents catastrophic forgetting.

    Args:
        rate: The learning rate.
        seed: The seed of the initial weights.
        classes: The number of classes that the softmax covers from the start, or `growing`: those
            taught so far. An experiment sets it from its data set.
    """

    def __init__(self, rate: float = 0.001, seed: int = 0, classes: Classes = "growing") -> None:
        super().__init__()
        require_between("rate", rate, 1e-9, 1e3)
        require_between("seed", seed, 0, 2**63)
        if isinstance(classes, str):
            require_choice("classes", classes, ("growing",))
        else:
            require_whole("classes", classes, 1, 1_000_000)
        self.rate = rate
        self.seed = seed
        self.classes = classes

    def require_room(self, labels: Sequence[str]) -> None:
        """Raise LabelError if there are more labels than classes."""
        if not isinstance(self.classes, str) and len(labels) > self.classes:
            raise LabelError(
                f"cannot teach {labels[self.classes]!r}: with classes={self.classes} there are at "
                f"most {plural(self.classes, 'label')}; give more classes, or classes=growing",
                labels[self.classes],
            )

    def _reset(self) -> None:
        self._layer = SoftmaxLayer(self.width or 0, self.rate, self.seed)
        if not isinstance(self.classes, str):
            self._layer.add_rows(self.classes)

    def _add_row(self) -> None:
        if isinstance(self.classes, str):
            self._layer.add_rows(1)

    def _learn(self, sample: Vector, row: int) -> None:
        self._layer.step(np.append(sample, 1.0)[None], np.array([row]))

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._layer.logits(embeddings)[:, : len(self._labels)]
