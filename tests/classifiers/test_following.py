"""Solutions that follow each sample, against solutions computed from all samples at once."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import classifier
from robocle.classifiers.scatter import dense, followed_scores
from robocle.classifiers.scatter.followed_block import FollowedBlock
from robocle.classifiers.scatter.following import Answer
from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.slda import StreamingLDA

Array = NDArray[np.float64]
Lesson = tuple[Array, str]

SPEC = "slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=2+1x16"
WIDTH = 80


def lessons_of(count: int, labels: int, width: int = WIDTH, seed: int = 0) -> list[Lesson]:
    """Labels that appear one after another; few directions vary much, as in a network."""
    rng = np.random.default_rng(seed)
    spread = np.arange(1, width + 1) ** -0.5
    rng.shuffle(spread)
    centres = 0.5 + 0.3 * rng.normal(size=(labels, width))
    rows = [int(rng.integers(0, max(1, min(labels, 1 + index // 3)))) for index in range(count)]
    noise = spread * rng.normal(size=(count, width))
    return [(centres[row] + noise[i], f"object {row}") for i, row in enumerate(rows)]


def all_labels(lessons: list[Lesson], shots: int) -> list[Lesson]:
    """The same embeddings, each with a label of its own, and some that are close to each."""
    rng = np.random.default_rng(5)
    return [
        (embedding + 0.1 * shot * rng.normal(size=WIDTH), f"object {row}")
        for shot in range(shots)
        for row, (embedding, _) in enumerate(lessons)
    ]


def new(spec: str, world: Array | None = None) -> StreamingLDA:
    clf = classifier(spec if world is None else f"{spec},world=5")
    assert isinstance(clf, StreamingLDA)
    if world is not None:
        clf.use_world(world)
    return clf


def taught(lessons: list[Lesson], spec: str = SPEC, world: Array | None = None) -> StreamingLDA:
    clf = new(spec, world)
    for embedding, label in lessons:
        clf.learn(embedding, label)
    return clf


def solved_anew(
    lessons: list[Lesson], spec: str = SPEC, world: Array | None = None
) -> StreamingLDA:
    """A classifier that follows nothing: each solution is computed by the other implementation."""
    clf = new(spec, world)
    clf._following = None
    for embedding, label in lessons:
        clf.learn(embedding, label)
    return clf


def left_out(clf: StreamingLDA) -> LeaveOneOut:
    found = clf.leave_one_out()
    assert found is not None
    return found


def assert_same(found: StreamingLDA, expected: StreamingLDA, queries: Array) -> None:
    scale = np.abs(expected.scores(queries)).max()
    for mine, theirs in _compared(found, expected, queries):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * scale)


def _compared(
    found: StreamingLDA, expected: StreamingLDA, queries: Array
) -> Iterator[tuple[Array, Array]]:
    yield found.scores(queries), expected.scores(queries)
    yield left_out(found).scores, left_out(expected).scores
    yield left_out(found).class_left_out, left_out(expected).class_left_out
    yield left_out(found).lengths, left_out(expected).lengths


@pytest.mark.parametrize("labels", [2, 5, 30])
@pytest.mark.parametrize("every", [1, 3])
def test_a_followed_solution_equals_one_computed_from_all_samples(labels: int, every: int) -> None:
    lessons, clf = lessons_of(180, labels), new(SPEC)
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    for count, (embedding, label) in enumerate(lessons, start=1):
        clf.learn(embedding, label)
        if count % every == 0:
            clf.scores(queries)
        if count % 30 == 0:
            assert_same(clf, taught(lessons[:count]), queries)
            assert_same(clf, solved_anew(lessons[:count]), queries)
    assert clf.form == "dense"


def test_the_fixed_rows_of_a_world_are_followed_too() -> None:
    world = np.abs(np.random.default_rng(2).normal(size=(40, WIDTH)))
    lessons, clf = lessons_of(150, 12), new(SPEC, world)
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    for count, (embedding, label) in enumerate(lessons, start=1):
        clf.learn(embedding, label)
        clf.scores(queries)
        if count % 25 == 0:
            expected = solved_anew(lessons[:count], world=world)
            assert_same(clf, expected, queries)
            best, again = clf.world_familiarity(), expected.world_familiarity()
            assert best is not None
            assert again is not None
            scale = np.abs(again).max()  # the other is computed in float32
            np.testing.assert_allclose(best, again, atol=1e-5 * scale)


def test_no_lesson_takes_more_than_one_step_of_a_factorisation_per_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[SymmetricFactor] = []
    advance, create = SymmetricFactor.advance, FollowedBlock.__init__

    def counted(factor: SymmetricFactor) -> None:
        steps.append(factor)
        advance(factor)

    def created(block: FollowedBlock, *given: Any) -> None:
        create(block, *given)
        steps.clear()  # a block that is new needs its whole factor at once

    monkeypatch.setattr(dense, "NARROW", 0)
    monkeypatch.setattr(SymmetricFactor, "advance", counted)
    monkeypatch.setattr(FollowedBlock, "__init__", created)
    lessons = lessons_of(260, 12)  # with more, the rows to leave out are rounded to float32
    clf, queries = taught(lessons[:100]), np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    factors = set()
    for count, (embedding, label) in enumerate(lessons[100:], start=101):
        clf.learn(embedding, label)
        steps.clear()
        clf.scores(queries)
        assert len(steps) == len(set(steps))
        factors.update(steps)
        if count % 25 == 0:
            assert_same(clf, solved_anew(lessons[:count]), queries)
    assert len(factors) >= 3


def test_many_lessons_between_predictions_are_followed_or_computed_anew() -> None:
    lessons, clf = lessons_of(260, 8), new(SPEC)
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    done = 0
    for step in (1, 2, 31, 32, 33, 64, 1, 70):
        for embedding, label in lessons[done : done + step]:
            clf.learn(embedding, label)
        done += step
        assert_same(clf, taught(lessons[:done]), queries)


@pytest.mark.parametrize("labels", [6, 70], ids=["few columns", "many columns"])
def test_classes_with_very_different_numbers_of_samples_are_followed_together(labels: int) -> None:
    lessons, clf = lessons_of(150 + labels, labels), new(SPEC)
    shown = [(z, label if index % 3 else "object 0") for index, (z, label) in enumerate(lessons)]
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    for count, (embedding, label) in enumerate(shown, start=1):
        clf.learn(embedding, label)
        clf.scores(queries)
        if count % 40 == 0:
            assert_same(clf, solved_anew(shown[:count]), queries)
    groups = clf._following._products.samples.groups  # type: ignore[union-attr]
    assert len(groups) > 1
    assert max(len(clf.labels), 1) == sum(len(group.numbers) for group in groups)


def test_blocks_may_keep_different_numbers_of_rows_of_a_class() -> None:
    """In a block of few directions, fewer rows have the same scatter."""
    flat = np.random.default_rng(4).normal(size=(2, 16))
    lessons = [
        (np.concatenate([z[:64], z[64:66] @ flat]), label) for z, label in lessons_of(300, 5)
    ]
    queries = np.array([embedding for embedding, _ in lessons[:5]])
    clf = new(SPEC)
    for count, (embedding, label) in enumerate(lessons, start=1):
        clf.learn(embedding, label)
        clf.scores(queries)
        if count > 240 and count % 10 == 0:
            expected = new(SPEC)  # with the same rows: which ones are kept depends on the moment
            expected.restore(clf.state())
            expected._following = None
            assert_same(clf, expected, queries)
    kept = [form.factors.count(0) for form in clf._scatters.forms]
    assert len(set(kept)) > 1


def test_samples_are_followed_while_the_shrinkage_is_complete() -> None:
    """The scatter of a block does not count then, but its samples are left out of their means."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, WIDTH))
    clf, lessons, complete = new(SPEC), [], 0
    queries = rng.normal(size=(5, WIDTH))
    for count in range(40):  # noise that is equal in all directions
        lessons.append((centres[count % 3] + 0.1 * rng.normal(size=WIDTH), f"object {count % 3}"))
        clf.learn(*lessons[-1])
        clf.scores(queries)
        complete += sum(share == 0 for share, _ in clf._regularisers()) if count > 10 else 0
        if count % 5 == 4:
            assert_same(clf, solved_anew(lessons), queries)
    assert complete > 10


def test_forgetting_merging_and_restoring_start_a_new_solution() -> None:
    lessons = lessons_of(90, 6)
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    clf = taught(lessons[:60])
    clf.scores(queries)
    clf.forget("object 2")
    rest = [lesson for lesson in lessons[:60] if lesson[1] != "object 2"]
    assert_same(clf, taught(rest), queries)
    clf.merge(taught(lessons[60:]))
    order = {label: None for _, label in [*rest, *lessons[60:]]}
    assert set(clf.labels) == set(order)
    np.testing.assert_allclose(
        clf.scores(queries), taught([*rest, *lessons[60:]]).scores(queries), rtol=1e-7
    )
    again = new(SPEC)
    again.restore(clf.state())
    assert_same(again, clf, queries)


def test_the_shrinkage_is_the_same_for_every_order_of_lessons() -> None:
    lessons = lessons_of(100, 6)
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    forwards, backwards = taught(lessons), taught(lessons[::-1])
    columns = [backwards.labels.index(label) for label in forwards.labels]
    for clf in (forwards, backwards):
        clf.scores(queries)
    for (share, ridge), (other, its_ridge) in zip(
        forwards._regularisers(), backwards._regularisers(), strict=True
    ):
        np.testing.assert_allclose([share, ridge[0]], [other, its_ridge[0]], rtol=1e-10)
    # The samples to leave out, and with them the weight of the earlier map, may differ.
    fixed = f"{SPEC},earlier=0.5"
    one, two = taught(lessons, fixed), taught(lessons[::-1], fixed)
    np.testing.assert_allclose(one.scores(queries), two.scores(queries)[:, columns], rtol=1e-8)


def test_with_many_labels_left_out_samples_are_scored_for_the_most_similar_ones() -> None:
    labels = followed_scores.MOST_COLUMNS + 40
    lessons = all_labels(lessons_of(labels, labels), 3)
    clf = taught(lessons)
    found, expected = left_out(clf), left_out(solved_anew(lessons))
    scored = np.isfinite(found.scores)
    assert (scored.sum(axis=1) == followed_scores.SIMILAR).all()
    assert scored[np.arange(len(found.rows)), found.rows].all()
    # Whatever the left-out sample is taken for is among them.
    best = expected.scores.argmax(axis=1)
    assert scored[np.arange(len(best)), best].mean() > 0.99
    np.testing.assert_allclose(found.scores[scored], expected.scores[scored], rtol=0.02, atol=0.02)


def test_with_many_labels_the_rows_are_float32_and_labels_stay_the_same() -> None:
    lessons = all_labels(lessons_of(560, 560), 2)
    queries = np.array([embedding for embedding, _ in lessons[::20]])
    expected = solved_anew(lessons, f"{SPEC},earlier=0.5")
    clf = taught(lessons, f"{SPEC},earlier=0.5")
    answer = clf._answered()
    assert isinstance(answer, Answer)
    assert answer.scorer.blocks[0].base.dtype == np.float32
    scale = np.abs(expected.scores(queries)).max()
    np.testing.assert_allclose(clf.scores(queries), expected.scores(queries), atol=1e-6 * scale)
    assert clf.predict(queries) == expected.predict(queries)


def test_linear_scores_are_those_of_the_followed_solution() -> None:
    clf = taught(lessons_of(70, 5))
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    clf.scores(queries)
    clf.learn(queries[0], "object 1")
    weights, bias = clf.linear()
    np.testing.assert_allclose(queries @ weights.T + bias, clf.scores(queries), rtol=1e-8)


def test_a_scorer_keeps_its_answers_while_lessons_go_on() -> None:
    lessons = lessons_of(150, 9)
    clf = taught(lessons[:40])
    queries = np.random.default_rng(1).normal(0.5, 0.3, (5, WIDTH))
    scorer = clf.scorer()
    before = scorer(queries).copy()
    for embedding, label in lessons[40:]:
        clf.learn(embedding, label)
        clf.scores(queries)
    np.testing.assert_array_equal(scorer(queries), before)
