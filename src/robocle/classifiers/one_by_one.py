"""`learn_one`, `predict_one` and `predict_proba_one`: the methods that river's estimators have.

https://riverml.xyz passes a sample as a dict of feature names to values. An embedding is a row of
numbers, so the order of the features is fixed by the first dict. A state has no feature names: pass
features in the same order to a restored classifier. River's own pipelines with metrics and its
`evaluate` accept only subclasses of its classes, so use these methods in a loop of your own.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers.embedding_numbers import embedding_numbers
from robocle.errors import FeatureError

Sample = ArrayLike | Mapping[Any, float]
"""An embedding (width,), or a dict of feature names to values."""


class OneByOne(ABC):
    """Learns and predicts one sample at a time, in river's manner."""

    _features: tuple[Hashable, ...] | None = None

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels taught so far."""

    @abstractmethod
    def learn(self, embedding: ArrayLike, label: str) -> None:
        """Learn one labelled embedding."""

    @abstractmethod
    def predict(self, embeddings: ArrayLike) -> list[str]:
        """Return the best label for each embedding."""

    @abstractmethod
    def predict_proba(self, embeddings: ArrayLike) -> NDArray[np.float64]:
        """Return the softmax of the scores."""

    def learn_one(self, x: Sample, y: str) -> Self:
        """Learn one labelled sample.

        Args:
            x: An embedding (width,), or a dict of feature names to values. The first dict fixes
                the order of the features; later ones may list them in any order.
            y: Its label.

        Returns:
            The classifier itself.

        Raises:
            LabelError: The label cannot be used.
            FeatureError: The sample differs in width or in its features from earlier ones, or
                contains values that are not finite.

        >>> import robocle
        >>> clf = robocle.classifier("ncm")
        >>> clf.learn_one({"red": 1, "round": 0}, "brick").learn_one([0, 1], "ball").labels
        ('brick', 'ball')
        >>> clf.predict_one({"round": 0.9, "red": 0.2})
        'ball'
        """
        features = self._order_of(x)
        self.learn(_values(x, features), y)
        self._features = features
        return self

    def predict_one(self, x: Sample) -> str | None:
        """Return the label with the best score, or None if nothing has been learned yet.

        Raises:
            FeatureError: The sample does not fit those that were learned.
        """
        return self.predict(self._as_row(x))[0] if self.labels else None

    def predict_proba_one(self, x: Sample) -> dict[str, float]:
        """Return the probability of each label; empty if nothing has been learned yet.

        Raises:
            FeatureError: The sample does not fit those that were learned.
        """
        if not self.labels:
            return {}
        probabilities = self.predict_proba(self._as_row(x))[0].tolist()
        return dict(zip(self.labels, probabilities, strict=True))

    def _as_row(self, x: Sample) -> NDArray[np.float64]:
        return np.asarray(embedding_numbers(_values(x, self._order_of(x)), 1)[None], np.float64)

    def _order_of(self, x: Sample) -> tuple[Hashable, ...] | None:
        if not isinstance(x, Mapping):
            return self._features
        order = self._features or tuple(x)
        if set(order) != set(x):
            changed = ", ".join(sorted(map(str, set(order) ^ set(x)))[:5])
            raise FeatureError(
                f"a sample has other features than the first one (they differ in {changed}): "
                "pass the same features every time"
            )
        return order


def _values(x: Sample, features: tuple[Hashable, ...] | None) -> ArrayLike:
    return [x[name] for name in features or ()] if isinstance(x, Mapping) else x
