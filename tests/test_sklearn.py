"""RobocleClassifier against scikit-learn's own checks, and what those do not cover."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from robocle.classifiers import CLASSIFIERS, classifier
from robocle.errors import SpecError
from robocle.sklearn import RobocleClassifier

Floats = NDArray[np.float64]


ESTIMATORS = [RobocleClassifier(spec) for spec in ("slda", "ncm", "sqda", "snb")]


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks_pass(
    estimator: RobocleClassifier, check: Callable[[RobocleClassifier], None]
) -> None:
    check(estimator)


def samples(count: int = 60, width: int = 12, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    rows = np.arange(count) % 3
    centres = 3 * np.random.default_rng(99).normal(size=(3, width))
    return centres[rows] + rng.normal(size=(count, width)), rows


def test_a_class_called_unknown_is_one_like_any_other() -> None:
    embeddings, rows = samples()
    labels = np.array(["mug", "unknown", "unknown_"])[rows]
    estimator = RobocleClassifier("ncm").fit(embeddings, labels)
    expected = RobocleClassifier("ncm").fit(embeddings, rows).predict(embeddings)
    found = estimator.predict(embeddings)
    assert (found == np.array(["mug", "unknown", "unknown_"])[expected]).all()
    assert estimator.predict_proba(embeddings).min() > 0


@pytest.mark.parametrize("spec", CLASSIFIERS.builtin())
def test_every_classifier_predicts_as_it_does_by_itself(spec: str) -> None:
    embeddings, rows = samples()
    labels = np.array(["mug", "cup", "pan"])[rows]
    estimator = RobocleClassifier(spec).fit(embeddings, labels)
    clf = classifier(spec)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, str(label))
    assert estimator.predict(embeddings).tolist() == clf.predict(embeddings)
    assert estimator.classes_.tolist() == ["cup", "mug", "pan"]
    order = [clf.labels.index(label) for label in estimator.classes_]
    np.testing.assert_array_equal(
        estimator.decision_function(embeddings), clf.scores(embeddings)[:, order]
    )
    np.testing.assert_allclose(
        estimator.predict_proba(embeddings), clf.predict_proba(embeddings)[:, order]
    )


@pytest.mark.parametrize(
    "labels",
    [[30, 7, -2], [0.0, 1.0, 2.0], ["pan", "mug", "cup"], np.array(["b", "c", "a"], object)],
)
def test_labels_of_any_type_come_back_as_they_were_given(labels: list[object]) -> None:
    embeddings, rows = samples()
    given = np.asarray(labels)[rows]
    estimator = RobocleClassifier("ncm").fit(embeddings, given)
    predicted = estimator.predict(embeddings)
    assert predicted.dtype == given.dtype
    assert (predicted == given).mean() > 0.9
    assert estimator.classes_.tolist() == sorted(labels)  # type: ignore[type-var]


def test_samples_learned_in_batches_equal_samples_learned_at_once() -> None:
    embeddings, rows = samples()
    once = RobocleClassifier().fit(embeddings, rows)
    batches = RobocleClassifier()
    for start in range(0, 60, 7):
        batches.partial_fit(embeddings[start : start + 7], rows[start : start + 7])
    np.testing.assert_allclose(
        batches.decision_function(embeddings), once.decision_function(embeddings), rtol=1e-6
    )


def test_new_labels_may_appear_and_equal_numbers_are_one_label() -> None:
    embeddings, rows = samples()
    estimator = RobocleClassifier("ncm").partial_fit(embeddings[:2], [7, 9])
    estimator.partial_fit(embeddings[2:6], [8.0, 7.0, 9.0, 8.0])
    assert estimator.classes_.tolist() == [7, 8, 9]
    assert estimator.classifier_.counts == {"7": 2, "9": 2, "8.0": 2}
    found = estimator.predict(embeddings)
    assert (found == np.array([7, 9, 8])[rows]).mean() > 0.9


def test_labels_that_are_expected_but_not_taught_are_never_predicted() -> None:
    embeddings, rows = samples()
    estimator = RobocleClassifier("ncm").partial_fit(embeddings, rows, classes=[0, 1, 2, 3])
    assert estimator.classes_.tolist() == [0, 1, 2, 3]
    assert (estimator.predict_proba(embeddings)[:, 3] == 0).all()
    assert set(estimator.predict(embeddings)) == {0, 1, 2}


def test_numbers_and_texts_do_not_mix() -> None:
    embeddings, rows = samples()
    estimator = RobocleClassifier("ncm").fit(embeddings, rows)
    with pytest.raises(ValueError, match="use numbers or texts"):
        estimator.partial_fit(embeddings[:1], ["mug"])


def test_a_grid_search_tunes_single_options_and_whole_classifiers() -> None:
    embeddings, rows = samples(90)
    options = {"classifier__shrinkage": [0.5, "oas"], "classifier__score": ["linear", "cosine"]}
    search = GridSearchCV(RobocleClassifier(), options, cv=3).fit(embeddings, rows)
    assert search.best_score_ > 0.9
    tried = [tuple(each.values()) for each in search.cv_results_["params"]]
    assert len({*tried}) == 4
    best = search.best_estimator_
    for option, value in search.best_params_.items():
        assert getattr(best.classifier_, option.removeprefix("classifier__")) == value
    search = GridSearchCV(RobocleClassifier(), {"classifier": ["ncm", "slda:shrinkage=0.5"]}, cv=3)
    assert search.fit(embeddings, rows).best_score_ > 0.9


def test_options_are_parameters_by_their_names() -> None:
    estimator = RobocleClassifier("sqda:shared=0.3")
    assert estimator.get_params(deep=False) == {"classifier": "sqda:shared=0.3"}
    assert estimator.get_params()["classifier__shared"] == 0.3
    assert clone(estimator).set_params(classifier="ncm").classifier == "ncm"
    with pytest.raises(SpecError, match="has no option"):
        estimator.set_params(classifier__colour=2).fit(*samples())
    with pytest.raises(ValueError, match="no parameter 'shared'"):
        estimator.set_params(shared=2)


def test_without_scikit_learn_the_message_names_the_extra() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import robocle.sklearn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.endswith("pip install 'robocle[sklearn]'\n")
