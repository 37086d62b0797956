"""What is no embedding is refused at every door with one line, and changes nothing."""

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle import Learner, classifier
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.samples import LARGEST
from robocle.errors import FeatureError

NOT_EMBEDDINGS: dict[str, Any] = {
    "a text": "abcd",
    "texts of digits": ["1", "2", "3", "4"],
    "bytes": b"abcd",
    "None": None,
    "a list with None": [1.0, None, 2.0, 3.0],
    "ragged lists": [[1.0, 2.0], [3.0]],
    "a set": {1.0, 2.0},
    "a generator": (number for number in range(4)),
    "an object": object(),
    "objects": np.array([1, 2, 3, 4], object),
    "a number beyond all floats": [10**400, 1, 1, 1],
    "complex numbers": np.ones(4, complex),
    "a list of complex numbers": [1j, 2, 3, 4],
    "truth values": np.ones(4, bool),
    "dates": np.array(["2020-01-01"] * 4, "M8[D]"),
    "durations": np.ones(4, "m8[s]"),
    "a structured array": np.zeros(4, [("a", "f4")]),
    "a masked array": np.ma.MaskedArray(np.ones(4), mask=[False, True, False, False]),
    "a number": 3.0,
    "no numbers": [],
    "NaN": [np.nan, 1, 1, 1],
    "infinity": [1, 1, 1, -np.inf],
    "a value that is too large": [1, 1, 1, -1.01 * LARGEST],
}


@pytest.mark.parametrize("kind", NOT_EMBEDDINGS)
def test_a_classifier_and_a_learner_refuse_what_is_no_embedding(kind: str) -> None:
    clf, learner = classifier("slda"), Learner(pooling="avg", classifier="ncm")
    learner.teach_embedding(np.ones(4), "mug")
    clf.learn(np.arange(4.0), "mug")
    clf.learn(np.ones(4), "pan")
    wrong = NOT_EMBEDDINGS[kind]
    for attempt in (
        lambda: clf.learn(wrong, "jar"),
        lambda: clf.learn_one(wrong, "jar"),
        lambda: clf.predict_one(wrong),
        lambda: clf.scores([wrong]),
        lambda: classifier("ncm").learn(wrong, "jar"),
        lambda: learner.teach_embedding(wrong, "mug"),
        lambda: learner.predict_embedding(wrong),
    ):
        with pytest.raises(FeatureError) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    assert clf.counts == {"mug": 1, "pan": 1}
    assert (learner.counts, learner.undoable) == ({"mug": 1}, 1)


def test_the_message_names_the_kind_and_the_shape() -> None:
    with pytest.raises(
        FeatureError, match=r"numbers of shape \(width,\), not bool of shape \(4,\)"
    ):
        classifier("ncm").learn(np.ones(4, bool), "mug")
    with pytest.raises(FeatureError, match="not a masked array: fill in the missing values"):
        classifier("ncm").learn(np.ma.MaskedArray(np.ones(4)), "mug")


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.float16, np.float32])
def test_all_kinds_of_real_numbers_are_embeddings(kind: type) -> None:
    clf = classifier("ncm")
    clf.learn(np.ones(4, kind), "mug")
    assert clf.scores(np.ones((1, 4), kind)).tolist() == [[0.0]]


@pytest.mark.parametrize("spec", CLASSIFIERS.names())
def test_the_largest_embeddings_have_finite_scores(spec: str) -> None:
    rng = np.random.default_rng(0)
    clf = classifier(spec)
    for number in range(12):
        clf.learn(rng.uniform(-LARGEST, LARGEST, 40), "abc"[number % 3])
    assert np.isfinite(clf.scores(rng.uniform(-LARGEST, LARGEST, (3, 40)))).all()
    clf.answer()


class Column:
    """Numbers as pandas has them: `mask` is a method there."""

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[np.float64]:
        return np.arange(4.0)

    def mask(self) -> None:
        """Replace numbers."""


def test_numbers_of_another_library_are_an_embedding() -> None:
    clf, column = classifier("ncm"), Column()
    clf.learn(cast(Any, column), "mug")
    assert clf.scores(cast(Any, [column])).tolist() == [[0.0]]
