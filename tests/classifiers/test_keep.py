"""What a state of slda reveals: class factors hold the taught embeddings, sums hold less."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.state import ClassifierState
from robocle.errors import InexactError
from robocle.learner import DEFAULT_CLASSIFIER

Floats = NDArray[np.float64]
WIDTH, CLASSES = 60, 4
FACTORS = "slda:covariance=blocks,blocks=3,score=cosine"
SUMS = f"{FACTORS},keep=sums"


def stream(samples: int, seed: int = 0) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(CLASSES), rng.integers(0, CLASSES, samples - CLASSES)])
    centres = rng.normal(0, 1, (CLASSES, WIDTH))
    embeddings = np.maximum(centres[rows] + 0.7 * rng.normal(size=(samples, WIDTH)), 0)
    return embeddings, [f"object {row}" for row in rows]


def taught(spec: str, embeddings: Floats, labels: list[str]) -> StreamingClassifier:
    clf = classifier(spec)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    return clf


def rebuilt(state: ClassifierState, block: int) -> dict[str, Floats]:
    """Return one block of the taught embeddings of each class, from the arrays of a state alone.

    Row c of a class factor is sqrt(c / (c + 1)) times the deviation of sample c from the mean of
    the c samples before it. The mean of all samples is known, so the samples can be computed from
    last to first.
    """
    arrays = {name.partition(".")[2]: array for name, array in state.arrays.items()
              if name.startswith(f"{block}.")}  # fmt: skip
    basis = arrays.get("basis", np.eye(WIDTH // 3))
    means = arrays["mean_coordinates"] if "basis" in arrays else arrays["means"]
    factors = np.split(arrays["part_rows"], np.cumsum(arrays["part_counts"])[:-1])
    found = {}
    for label, mean, rows in zip(state.labels, means, factors, strict=True):
        samples = []
        for count in range(len(rows), 0, -1):
            deviation = rows[count - 1] / np.sqrt(count / (count + 1))
            mean = mean - deviation / (count + 1)  # of the samples before this one
            samples.append(mean + deviation)
        found[label] = np.array([mean, *samples[::-1]]) @ basis
    return found


@pytest.mark.parametrize(("samples", "form"), [(12, "basis"), (100, "means")])
def test_taught_embeddings_can_be_rebuilt_from_class_factors(samples: int, form: str) -> None:
    embeddings, labels = stream(samples)
    state = taught(FACTORS, embeddings, labels).state()
    assert f"0.{form}" in state.arrays
    for label in state.labels:
        own = embeddings[[name == label for name in labels]]
        found = np.hstack([rebuilt(state, block)[label] for block in range(3)])
        np.testing.assert_allclose(found, own, rtol=0, atol=1e-12)


@pytest.mark.parametrize("samples", [12, 40, 400])
def test_a_state_of_sums_holds_no_class_factors(samples: int) -> None:
    state = taught(SUMS, *stream(samples)).state()
    kept = {name.partition(".")[2] for name in state.arrays if "." in name}
    assert kept <= {"basis", "mean_coordinates", "span_scatter", "means", "scatter"}


def test_the_basis_in_a_state_of_sums_does_not_depend_on_the_order_of_samples() -> None:
    embeddings, labels = stream(10)
    first = taught(SUMS, embeddings, labels).state()
    clf = classifier(SUMS)
    for index in [*range(CLASSES), *range(9, CLASSES - 1, -1)]:
        clf.learn(embeddings[index], labels[index])
        clf.scores(embeddings[:1])
    second = clf.state()
    assert first.labels == second.labels
    for name, array in first.arrays.items():  # eigenvectors have either sign
        np.testing.assert_allclose(np.abs(second.arrays[name]), np.abs(array), atol=1e-9)


def recovered_deviations(spec: str) -> int:
    """Return how many of six deviations an attacker can find from the sums and the basis alone.

    If direction k of the basis was added for sample k, the scatter is R^T R with R lower
    triangular, and R is found by a Cholesky decomposition from the last direction to the first.
    """
    embeddings, labels = stream(10)
    clf = classifier(spec)
    deviations = []
    seen: dict[str, list[Floats]] = {}
    for embedding, label in zip(embeddings[:, : WIDTH // 3], labels, strict=True):
        own = seen.setdefault(label, [])
        deviations += [embedding - np.mean(own, axis=0)] if own else []
        own.append(embedding)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
        clf.scores(embedding[None])
    arrays = clf.state().arrays
    scatter = arrays["0.span_scatter"] + 1e-12 * np.eye(len(arrays["0.basis"]))
    rows = np.linalg.cholesky(scatter[::-1, ::-1])[::-1, ::-1].T @ arrays["0.basis"]
    found = np.abs(np.array(deviations) @ rows.T)
    lengths = np.outer(np.linalg.norm(deviations, axis=1), np.linalg.norm(rows, axis=1))
    return int(((found / lengths).max(axis=1) > 1 - 1e-6).sum())


def test_a_basis_that_grew_by_sample_reveals_samples_but_the_basis_of_keep_sums_does_not() -> None:
    assert recovered_deviations(FACTORS) == 6
    assert recovered_deviations(SUMS) == 0


def pairs_from_sums(means: Floats, scatter: Floats) -> list[Floats]:
    """The two samples of each class, from class means and the scatter of all classes alone.

    Where a class mean is zero both samples are, and so is their difference. The difference of the
    samples is the only direction of the scatter that is zero at all these entries.
    """
    values, vectors = np.linalg.eigh(scatter)
    rows = (vectors * np.sqrt(np.maximum(values, 0))).T[values > 1e-9 * values.max()]
    found = []
    for mean in means:
        _, _, directions = np.linalg.svd(rows[:, np.abs(mean) < 1e-9].T)
        half = directions[-1] @ rows / np.sqrt(2)
        found.append(np.array([mean + half, mean - half]))
    return found


def test_few_embeddings_with_zeros_can_be_computed_from_a_state_of_sums() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1, (6, 90))
    embeddings = np.maximum(centres + 0.3 * rng.normal(size=(2, 6, 90)), 0)
    labels = [f"object {row}" for row in range(6)] * 2
    arrays = taught("slda:keep=sums", embeddings.reshape(12, 90), labels).state().arrays
    basis = arrays["0.basis"]
    means, scatter = (
        arrays["0.mean_coordinates"] @ basis,
        basis.T @ arrays["0.span_scatter"] @ basis,
    )
    for found, own in zip(
        pairs_from_sums(means, scatter), embeddings.transpose(1, 0, 2), strict=True
    ):
        ordered = found if np.allclose(found[0], own[0]) else found[::-1]
        np.testing.assert_allclose(ordered, own, rtol=0, atol=1e-9)


def test_even_with_keep_sums_the_only_sample_of_a_class_is_its_mean() -> None:
    embeddings, labels = stream(CLASSES)
    arrays = taught(SUMS, embeddings, labels).state().arrays
    blocks = [arrays[f"{block}.mean_coordinates"] @ arrays[f"{block}.basis"] for block in range(3)]
    np.testing.assert_allclose(np.hstack(blocks), embeddings, atol=1e-12)


@pytest.mark.parametrize("samples", [12, 100])
def test_scores_do_not_depend_on_what_is_kept(samples: int) -> None:
    embeddings, labels = stream(samples)
    factors, sums = (taught(spec, embeddings, labels) for spec in (FACTORS, SUMS))
    for _ in range(2):
        np.testing.assert_allclose(
            sums.scores(embeddings), factors.scores(embeddings), rtol=1e-9, atol=1e-9
        )
        sums.state()  # changes the basis and nothing else


def test_with_sums_alone_forgetting_is_not_exact_and_there_are_no_leave_one_out_scores() -> None:
    assert classifier(SUMS).forgets_exactly  # nothing was taught yet
    clf = taught(SUMS, *stream(12))
    assert not clf.forgets_exactly
    assert clf.leave_one_out() is None
    clf.forget("object 1")
    assert len(clf.labels) == CLASSES - 1


@pytest.mark.parametrize("counts", [(10, 12), (100, 12), (12, 100)])
def test_sums_merge_as_if_everything_had_been_taught_in_one_place(counts: tuple[int, int]) -> None:
    first, second = (stream(count, seed) for seed, count in enumerate(counts))
    merged = taught(SUMS, *first)
    merged.merge(taught(SUMS, *second))
    together = taught(SUMS, np.vstack([first[0], second[0]]), first[1] + second[1])
    np.testing.assert_allclose(merged.scores(first[0]), together.scores(first[0]), rtol=1e-7)


def test_sums_and_factors_do_not_merge() -> None:
    with pytest.raises(InexactError, match="only equal classifiers can be merged"):
        taught(SUMS, *stream(12)).merge(taught(FACTORS, *stream(12)))


def test_a_state_without_class_factors_is_smaller() -> None:
    sizes = {}
    for spec in (FACTORS, SUMS):
        state = taught(spec, *stream(100)).state()
        sizes[spec] = sum(array.nbytes for array in state.arrays.values())
    assert sizes[SUMS] < 0.5 * sizes[FACTORS]


def test_sums_restored_from_a_state_with_class_factors_drop_them() -> None:
    embeddings, labels = stream(12)
    clf = classifier(SUMS)
    clf.restore(taught(FACTORS, embeddings, labels).state())
    assert not any("part" in name for name in clf.state().arrays)
    np.testing.assert_allclose(
        clf.scores(embeddings), taught(SUMS, embeddings, labels).scores(embeddings), rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "shots"), [(20, 5), (50, 20)])
def test_the_sizes_in_the_documentation_are_those_of_the_default_learner(
    labels: int, shots: int
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text("utf-8")
    row = re.search(rf"\| {labels} labels x {shots} samples \| (\S+) MB \| (\S+) MB \|", page)
    assert row
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(labels * shots, 5184)).astype(np.float32)
    for keep, documented in zip(("factors", "sums"), row.groups(), strict=True):
        clf = classifier(f"{DEFAULT_CLASSIFIER},keep={keep}", blocks="3+2x672")
        for index, embedding in enumerate(embeddings):
            clf.learn(embedding, f"object {index % labels}")
        size = sum(array.nbytes for array in clf.state().arrays.values())
        assert f"{size / 1e6:.1f}" == documented
