"""What every classifier in the table keeps, whatever its arithmetic."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import CLASSIFIERS, StreamingClassifier, classifier
from robocle.errors import FeatureError, LabelError, NothingTaughtError, StateError

WIDTH = 24
# Every entry by its default, and the options that change how an entry computes.
SPECS = [
    *CLASSIFIERS.names(),
    "slda:scatter=published,shrinkage=1e-4",
    "slda:covariance=blocks,blocks=3",
    "slda:scale=blocks,blocks=3",
    "slda:covariance=blocks,scale=blocks,blocks=3,shrinkage=0.1",
    "slda:shrinkage=1",
    "slda:score=cosine",
    "slda:score=cosine,covariance=blocks,blocks=3",
    "snb:variant=published",
    "cbcl:variant=published,k=3,threshold=2,centroids=6",
    "sqda:shared=0",
    "sqda:shared=1",
    "icarl:buffer=20",
    "icarl:per_class=2",
    "ridge:features=64",
    "klda:features=32",
]

Stream = tuple[NDArray[np.float32], list[str]]


def stream(samples: int, labels: int = 4, seed: int = 0) -> Stream:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, labels, samples)
    centres = rng.normal(0, 2, (labels, WIDTH))
    vectors = np.maximum(centres[rows] + rng.normal(0, 1, (samples, WIDTH)), 0)
    return vectors.astype(np.float32), [f"thing {row}" for row in rows]


def taught(spec: str, samples: Stream) -> StreamingClassifier:
    clf = classifier(spec)
    for vector, label in zip(*samples, strict=True):
        clf.learn(vector, label)
    return clf


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_labels_stand_in_the_order_of_their_first_sample(spec: str) -> None:
    clf = classifier(spec)
    for label in ("b", "a", "b", "c", "a"):
        clf.learn(np.ones(WIDTH), label)
    assert clf.labels == ("b", "a", "c")
    assert clf.counts == {"b": 2, "a": 2, "c": 1}


def test_scores_have_a_row_a_vector_and_a_column_a_label(spec: str) -> None:
    samples = stream(30)
    scores = taught(spec, samples).scores(samples[0][:7])
    assert scores.shape == (7, 4)
    assert np.isfinite(scores).all()


def test_separated_classes_are_recognised(spec: str) -> None:
    clf = classifier(spec)
    rng = np.random.default_rng(3)
    centres = 10 * np.eye(4).repeat(WIDTH // 4, axis=1) + 1
    for shot in range(5):
        for row, centre in enumerate(centres):
            clf.learn(centre + rng.normal(0, 0.5, WIDTH), f"{row}")
        assert shot == 0 or (clf.scores(centres).argmax(axis=1) == np.arange(4)).all()


def test_one_sample_of_one_label_is_enough_to_answer(spec: str) -> None:
    clf = classifier(spec)
    clf.learn(np.arange(WIDTH), "only")
    assert clf.scores(np.ones((3, WIDTH))).shape == (3, 1)


@pytest.mark.parametrize(
    "spec", ["ncm", "slda", "slda:shrinkage=1", "slda:covariance=blocks,blocks=3", "sqda", "snb"]
)
def test_one_sample_a_label_ranks_as_the_nearest_mean(spec: str) -> None:
    vectors, _ = stream(4, seed=5)
    clf = taught(spec, (vectors, list("abcd")))
    queries = stream(50, seed=6)[0]
    distances = ((queries[:, None] - vectors[None]) ** 2).sum(axis=2)
    assert (clf.scores(queries).argmax(axis=1) == distances.argmin(axis=1)).all()


def test_duplicates_do_no_harm(spec: str) -> None:
    clf = taught(spec, (np.ones((20, WIDTH), np.float32), ["a", "b"] * 10))
    assert np.isfinite(clf.scores(np.ones((1, WIDTH)))).all()


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e-42, 0.0])
def test_scores_stay_finite_on_extreme_values(spec: str, scale: float) -> None:
    vectors, labels = stream(12)
    extreme = (vectors.astype(np.float64) * scale).astype(np.float32)
    scores = taught(spec, (extreme, labels)).scores(extreme)
    assert np.isfinite(scores).all()


def test_scores_do_not_depend_on_when_they_were_asked_before(spec: str) -> None:
    samples = stream(120)
    quiet = taught(spec, samples)
    asked = classifier(spec)
    for vector, label in zip(*samples, strict=True):
        asked.learn(vector, label)
        asked.scores(vector[None])
    queries = samples[0][:20]
    expected = quiet.scores(queries)
    assert np.abs(asked.scores(queries) - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_vector_scores_alike_alone_and_in_a_batch(spec: str) -> None:
    samples = stream(40)
    clf = taught(spec, samples)
    together = clf.scores(samples[0][:6])
    alone = np.vstack([clf.scores(vector[None]) for vector in samples[0][:6]])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-9 * np.abs(together).max())


@pytest.mark.parametrize("samples", [3, 10, 200])
def test_a_restored_classifier_goes_on_as_the_first(spec: str, samples: int) -> None:
    vectors, labels = stream(samples + 20)
    first = taught(spec, (vectors[:samples], labels[:samples]))
    second = classifier(spec)
    second.restore(first.state())
    for vector, label in zip(vectors[samples:], labels[samples:], strict=True):
        first.learn(vector, label)
        second.learn(vector, label)
    assert first.labels == second.labels
    assert first.counts == second.counts
    np.testing.assert_allclose(first.scores(vectors), second.scores(vectors), rtol=1e-7)


def test_an_untaught_classifier_can_be_stored_too(spec: str) -> None:
    restored = classifier(spec)
    restored.restore(classifier(spec).state())
    assert restored.labels == ()


def test_a_state_does_not_change_when_learning_goes_on(spec: str) -> None:
    samples = stream(10)
    clf = taught(spec, samples)
    state = clf.state()
    before = {name: array.copy() for name, array in state.arrays.items()}
    for vector, label in zip(*stream(60, seed=9), strict=True):
        clf.learn(vector, label)
        clf.scores(vector[None])
    for name, array in before.items():
        np.testing.assert_array_equal(state.arrays[name], array)


def test_a_state_that_lacks_an_array_is_refused_and_changes_nothing(spec: str) -> None:
    samples = stream(10)
    clf = taught(spec, samples)
    expected = clf.scores(samples[0])
    state = taught(spec, stream(30, seed=8)).state()
    for missing in state.arrays:
        rest = {name: array for name, array in state.arrays.items() if name != missing}
        with pytest.raises(StateError):
            clf.restore(type(state)(state.labels, rest))
    np.testing.assert_array_equal(clf.scores(samples[0]), expected)


def test_the_state_does_not_grow_with_the_samples(spec: str) -> None:
    sizes = []
    for samples in (2200, 2600):  # icarl has filled its buffer, klda keeps no parts any more
        state = taught(spec, stream(samples)).state()
        sizes.append(sum(array.nbytes for array in state.arrays.values()))
    assert sizes[0] == sizes[1]


def test_a_forgotten_label_never_comes_back(spec: str) -> None:
    samples = stream(40)
    clf = taught(spec, samples)
    labels = clf.labels
    clf.forget(labels[1])
    assert clf.labels == (labels[0], *labels[2:])
    assert clf.scores(samples[0]).shape == (40, 3)
    clf.learn(samples[0][0], "new")
    assert clf.scores(samples[0]).shape == (40, 4)


def test_everything_can_be_forgotten(spec: str) -> None:
    clf = taught(spec, stream(10))
    for label in clf.labels:
        clf.forget(label)
    with pytest.raises(NothingTaughtError):
        clf.scores(np.ones((1, WIDTH)))
    clf.learn(np.ones(WIDTH), "again")
    assert clf.scores(np.ones((1, WIDTH))).shape == (1, 1)


def test_a_renamed_label_keeps_what_it_learnt(spec: str) -> None:
    samples = stream(40)
    clf = taught(spec, samples)
    expected = clf.scores(samples[0])
    old = clf.labels[2]
    clf.rename(old, "new name")
    assert clf.labels[2] == "new name"
    np.testing.assert_array_equal(clf.scores(samples[0]), expected)


def test_refused_input_changes_nothing(spec: str) -> None:
    samples = stream(20)
    clf = taught(spec, samples)
    expected = clf.scores(samples[0])
    bad_vectors: list[object] = [
        np.full(WIDTH, np.nan),
        np.full(WIDTH, np.inf),
        np.ones(WIDTH + 3),
        np.ones((2, WIDTH)),
        np.ones(0),
        3.0,
    ]
    for vector in bad_vectors:
        with pytest.raises(FeatureError):
            clf.learn(vector, "new")  # type: ignore[arg-type]
    for label in ("", "  ", "x" * 10_000, "two\nlines", "nul\0"):
        with pytest.raises(LabelError):
            clf.learn(np.ones(WIDTH), label)
    with pytest.raises(FeatureError):
        clf.scores(np.ones(WIDTH))
    with pytest.raises(LabelError):
        clf.forget("never taught")
    with pytest.raises(LabelError):
        clf.rename(clf.labels[0], clf.labels[1])
    np.testing.assert_array_equal(clf.scores(samples[0]), expected)


def test_asking_before_teaching_is_refused(spec: str) -> None:
    with pytest.raises(NothingTaughtError, match="teach at least one picture"):
        classifier(spec).scores(np.ones((1, WIDTH)))
