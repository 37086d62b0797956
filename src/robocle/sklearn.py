"""A scikit-learn estimator of any robocle classifier, over embeddings.

    from robocle.sklearn import RobocleClassifier

    estimator = RobocleClassifier("slda:shrinkage=oas").fit(embeddings, labels)
    search = GridSearchCV(RobocleClassifier(), {"classifier__shrinkage": [0.1, "oas"]})

scikit-learn is an extra: pip install 'robocle[sklearn]'.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers import CLASSIFIERS, StreamingClassifier
from robocle.classifiers import classifier as build
from robocle.classifiers.labels import UNKNOWN
from robocle.classifiers.streaming import softmax
from robocle.errors import LabelError, MissingExtraError
from robocle.spec import parse_spec

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError("sklearn", "robocle.sklearn needs scikit-learn 1.6 or newer") from error


OPTION = "classifier__"
TEXTS = "OSU"  # the kinds of numpy types that labels of text have


class RobocleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # has no types
    """A streaming classifier as a scikit-learn estimator.

    Samples are learned one at a time, in the order given. Labels may be numbers or texts.

    Each option of the classifier is a parameter of its own, such as `classifier__shrinkage`, which
    `set_params` and a grid search can set.

    Args:
        classifier: The spec of a classifier, such as "slda:shrinkage=oas" or "ncm".

    Attributes:
        classes_: The labels, sorted.
        n_features_in_: The width of the embeddings.
        classifier_: The streaming classifier. Its labels are the texts of the labels. "unknown",
            which it would never predict, is "unknown_" there.

    >>> X = [[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]
    >>> estimator = RobocleClassifier("ncm").fit(X, [7, 7, 9, 9])
    >>> estimator.predict([[0.5, 0.5]])
    array([7])
    >>> estimator.partial_fit([[0.0, 9.0]], [8]).predict([[0.5, 8.0]])
    array([8])
    >>> RobocleClassifier("sqda").set_params(classifier__shared=0.3)
    RobocleClassifier(classifier='sqda:shared=0.3')
    """

    def __init__(self, classifier: str = "slda") -> None:
        self.classifier = classifier

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters: the spec and, if deep, each option of the classifier.

        Raises:
            SpecError: The spec is not one of a classifier.
        """
        if not deep:
            return {"classifier": self.classifier}
        spec = parse_spec(self.classifier)
        options = {**CLASSIFIERS.defaults(spec.name), **spec.options}
        return {
            "classifier": self.classifier,
            **{f"{OPTION}{name}": value for name, value in options.items()},
        }

    def set_params(self, **params: Any) -> Self:
        """Set the spec, or single options of the classifier.

        Raises:
            SpecError: There is no such option, or the spec is not one of a classifier.
            ValueError: There is no such parameter.
        """
        options = {name: params.pop(name) for name in list(params) if name.startswith(OPTION)}
        if unknown := params.keys() - {"classifier"}:
            known = ", ".join(self.get_params())
            raise ValueError(f"there is no parameter {unknown.pop()!r}: known: {known}")
        self.classifier = params.get("classifier", self.classifier)
        if options:
            spec = parse_spec(self.classifier)
            given = {name.removeprefix(OPTION): value for name, value in options.items()}
            self.classifier = str(replace(spec, options={**spec.options, **given}))
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn labelled embeddings from scratch.

        Args:
            X: The embeddings (n, width).
            y: Their labels (n,).

        Returns:
            The estimator itself.

        Raises:
            SpecError: The spec is not one of a classifier.
            ValueError: The embeddings or labels cannot be used.
        """
        self._start()
        self._learn(X, y, reset=True)
        # Solve now and not at the first prediction, where the arrays may be mapped read-only.
        self.classifier_.scores(np.zeros((1, self.n_features_in_)))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn further labelled embeddings. Labels may be new at any time.

        Args:
            X: The embeddings (n, width).
            y: Their labels (n,).
            classes: Labels to expect. They need not be given; a label that is expected but not yet
                taught has the probability 0.

        Returns:
            The estimator itself.

        Raises:
            SpecError: The spec is not one of a classifier.
            ValueError: The embeddings or labels cannot be used.
        """
        first = not hasattr(self, "n_features_in_")
        if first:
            self._start()
        if classes is not None:
            self._add_classes(np.asarray(classes))
        return self._learn(X, y, reset=first)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores (n, classes), or with two classes the difference of their scores (n,).

        Args:
            X: The embeddings (n, width).

        Raises:
            NotFittedError: Nothing has been learned yet.
            ValueError: The embeddings cannot be used.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label with the best score for each embedding.

        Args:
            X: The embeddings (n, width).

        Raises:
            NotFittedError: Nothing has been learned yet.
            ValueError: The embeddings cannot be used.
        """
        best = self._scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the softmax of the scores, (n, classes).

        See `StreamingClassifier.predict_proba` for the classifiers of which these are posterior
        probabilities.

        Args:
            X: The embeddings (n, width).

        Raises:
            NotFittedError: Nothing has been learned yet.
            ValueError: The embeddings cannot be used.
        """
        return softmax(self._scores(X))

    def _start(self) -> None:
        self.classifier_: StreamingClassifier = build(self.classifier)
        self.classes_: NDArray[Any] = np.empty(0)
        self._texts: dict[Any, str] = {}

    def _learn(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> Self:
        embeddings, labels = validate_data(self, X, y, dtype=np.float64, reset=reset)
        check_classification_targets(labels)
        self._add_classes(labels)
        for embedding, label in zip(embeddings, labels.tolist(), strict=True):
            text = str(label)
            if text.rstrip("_") == UNKNOWN:  # which a classifier never predicts
                text += "_"
            # Equal labels of different types, such as 7 and 7.0, are one label.
            self.classifier_.learn(embedding, self._texts.setdefault(label, text))
        return self

    def _add_classes(self, labels: NDArray[Any]) -> None:
        known = self.classes_ if len(self.classes_) else labels
        if (known.dtype.kind in TEXTS) != (labels.dtype.kind in TEXTS):
            raise LabelError(
                f"labels are {known.dtype} so far, and now {labels.dtype}: use numbers or texts"
            )
        self.classes_ = np.unique(np.concatenate([known, labels]))

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        embeddings = validate_data(self, X, dtype=np.float64, reset=False)
        scores = np.full((len(embeddings), len(self.classes_)), -np.inf)
        columns = {self._texts.get(label): row for row, label in enumerate(self.classes_.tolist())}
        taught = [columns[label] for label in self.classifier_.labels]
        scores[:, taught] = self.classifier_.scores(embeddings)
        return scores
