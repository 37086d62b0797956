"""SLDA against plain formulas, whatever was taught, forgotten, joined, merged and restored."""

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.covariance import OAS

import robocle
from exhaustive import only
from robocle.classifiers.samples import Sample
from robocle.classifiers.scatter import Inverse, Scatter
from robocle.classifiers.slda.answer import Answer
from robocle.classifiers.slda.estimates import shrunk
from robocle.errors import (
    FeatureError,
    InexactError,
    SpecError,
    UnknownLabelError,
    UnknownSampleError,
)
from slda_formulas import Formulas, assert_formulas
from slda_samples import (
    DEFAULT,
    assert_same,
    renamed,
    reopened,
    samples_of,
    taught,
    teach,
    world_of,
)

SPECS = {
    "default": (f"{DEFAULT},blocks=3+2x24", 84),
    "published": ("slda:scatter=published,shrinkage=1e-4", 18),
    "full covariance": ("slda:shrinkage=oas,score=cosine,covariance=full,world=3", 18),
    "fixed shrinkage": ("slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks=2+1x8", 24),
    "linear score": ("slda:shrinkage=stepped,score=linear,covariance=blocks,blocks=2", 24),
}
EVERY_SPEC = pytest.mark.parametrize(("spec", "width"), SPECS.values(), ids=SPECS.keys())
VERBS = st.sampled_from(
    ["teach", "teach", "follow", "follow", "forget", "remove", "undo", "join", "merge", "reopen"]
)


class Home:
    """A classifier, and the samples that it must have after all operations."""

    def __init__(self, spec: str, width: int, labels: int, seed: int) -> None:
        self.spec = spec
        self.world = world_of(width) if "world" in spec else None
        self.clf = taught(spec, world=self.world)
        self.samples: list[Sample] = []
        self._fresh = iter(samples_of(1000, width, labels, seed))

    def perform(self, verb: str, number: int) -> None:
        """Do something; the number tells how much of it, or with which label."""
        known = list(dict.fromkeys(sample.label for sample in self.samples))
        if verb in ("teach", "follow", "merge"):
            self._teach(verb, [next(self._fresh) for _ in range(number)])
        elif verb == "reopen":
            self.clf = reopened(self.clf, self.spec, self.world)
        elif verb in ("remove", "undo") and len(self.samples) > number:
            gone = self.samples[number::7] if verb == "remove" else self.samples[-number:]
            self.clf.remove(sample.id for sample in gone)
            self.samples = [sample for sample in self.samples if sample not in gone]
        elif verb == "forget" and len(known) > 1:
            label = known[number % len(known)]
            self.clf.forget(label)
            self.samples = [sample for sample in self.samples if sample.label != label]
        elif verb == "join" and len(known) > 1:
            old, new = known[number % len(known)], known[(number + 1) % len(known)]
            self.clf.rename(old, new)
            self.samples = renamed(self.samples, old, new)

    def _teach(self, verb: str, new: list[Sample]) -> None:
        if verb == "teach":
            teach(self.clf, new)
        elif verb == "merge":
            self.clf.merge(taught(self.spec, [*new, *self.samples[:3]]))
        else:
            for sample in new:
                teach(self.clf, [sample])
                self.clf.answer()
        self.samples += new


@pytest.mark.slow
@EVERY_SPEC
@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**16),
    labels=st.sampled_from([1, 2, 3, 6, 20]),
    plan=st.lists(st.tuples(VERBS, st.integers(1, 40)), min_size=1, max_size=10),
)
def test_any_operations_result_in_the_answers_of_the_formulas(
    spec: str, width: int, seed: int, labels: int, plan: list[tuple[str, int]]
) -> None:
    """They also equal those of a classifier that was taught what is left, to 1e-9."""
    home = Home(spec, width, labels, seed)
    home.perform("follow", 1 + seed % 9)
    for verb, number in plan:
        home.perform(verb, number)
        if number % 4 == 0:
            assert_formulas(home.clf, home.samples, home.world)
    assert_formulas(home.clf, home.samples, home.world)
    assert_same(home.clf, taught(spec, home.samples, home.world))


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("labels", [260, *only(520, [520, 1000])])
def test_with_many_labels_left_out_samples_are_scored_for_the_most_similar_ones(
    labels: int,
) -> None:
    """Beyond 512 labels, rows are float32. The first picture of some labels shows another one."""
    rng, world = np.random.default_rng(labels), world_of(24)
    centres = 0.5 + rng.normal(size=(labels, 24))
    samples = [
        Sample(f"object {row}", centres[shown] + 0.5 * rng.normal(size=24), f"{shot}.{row}")
        for shot in range(8)
        for row in range(labels)
        for shown in [row - 1 if row % 9 == shot == 0 else row]
        if shot < 2 or row % 9 == 0
    ]
    clf = taught(f"{DEFAULT},blocks=2+1x8", samples[:-60], world)
    for sample in samples[-60:]:
        clf.answer()
        teach(clf, [sample])
    assert_formulas(clf, samples, world)
    left = clf.answer().leave_one_out
    assert left is not None
    scored = np.isfinite(left.scores)
    assert len(left.ids) == 128
    assert (scored.sum(axis=1) == 128).all()
    assert scored[np.arange(128), left.rows].all()
    # What a sample is taken for, of all labels, is among them.
    of_all, _, _ = Formulas(clf, samples, world).leave_one_out(left.ids, clf.answer().maps[1])
    assert scored[np.arange(128), of_all.argmax(axis=1)].all()


@pytest.fixture
def inverses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool, float]]:
    """Every inverse that is computed: its block, whether from a matrix, and its ridge."""
    found: list[tuple[int, bool, float]] = []
    compute = Inverse.__init__

    def recorded(self: Inverse, scatter: Scatter, ridge: float) -> None:
        found.append((scatter.number, scatter.matrix is not None, ridge))
        compute(self, scatter, ridge)

    monkeypatch.setattr(Inverse, "__init__", recorded)
    return found


def test_four_hundred_lessons_that_were_followed_equal_a_classifier_from_the_state(
    inverses: list[tuple[int, bool, float]],
) -> None:
    """Scatters become matrices, the shrinkage moves by steps, and factors are renewed."""
    spec, width = f"{DEFAULT},blocks=2+1x40", 120
    world, computed = world_of(width), dict[int, list[tuple[bool, float]]]({0: [], 1: [], 2: []})
    clf = taught(spec, world=world)
    for number, sample in enumerate(samples_of(400, width, 9), start=1):
        teach(clf, [sample])
        inverses.clear()
        clf.answer()
        renewed = [b for b, _, ridge in inverses if computed[b] and computed[b][-1][1] == ridge]
        assert len(renewed) <= 1  # at most one factorisation is due per lesson
        for block, is_matrix, ridge in inverses:
            computed[block].append((is_matrix, ridge))
        if number % 40 == 0 or 18 < number < 24:
            assert_same(clf, reopened(clf, spec, world))
    for own in computed.values():
        assert len({is_matrix for is_matrix, _ in own}) == 2
        assert len({ridge for _, ridge in own}) > 4
        assert len(set(own)) < len(own) < 40  # some were renewed; most lessons were followed


def test_an_answer_keeps_its_values_while_lessons_go_on() -> None:
    """One answer is evaluated before further lessons, its twin only after them."""
    spec, samples, world = f"{DEFAULT},blocks=2+1x16", samples_of(200, 80, 60), world_of(80)
    queries, answers = world_of(80)[:5].astype(np.float64), []
    clf, twin = taught(spec, world=world), taught(spec, world=world)
    for number, sample in enumerate(samples):
        for each in (clf, twin):
            teach(each, [sample])
        answer, unread = clf.answer(), twin.answer()
        if number in (0, 5, 30, 31, 70, 150):
            answers.append((values_of(answer, queries), answer, unread))
    for before, *later in answers:
        for answer in later:
            for expected, found in zip(before, values_of(answer, queries), strict=True):
                np.testing.assert_array_equal(found, expected)


def values_of(answer: Answer, queries: NDArray[np.float64]) -> list[NDArray[Any]]:
    left = answer.leave_one_out
    assert left is not None
    assert answer.world_familiarity is not None
    scores = answer.scores_and_familiarity(queries)
    lengths = answer.lengths, answer.familiarity_lengths
    left_out = left.scores, left.familiarity, answer.for_others
    found = *scores, *lengths, *left_out, answer.world_familiarity, answer.maps, *answer.linear()
    return [each.copy() for each in found]


@pytest.mark.parametrize("has_world", [False, True])
@pytest.mark.parametrize("size", [1e30, 1e-30, 1e-42, 0.0])
@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["different", "identical"])
@pytest.mark.parametrize("shrinkage", ["stepped", "oas", "0.1", "1e-9"])
def test_extreme_embeddings_have_finite_answers(
    shrinkage: str, spread: float, size: float, has_world: bool
) -> None:
    spec = f"{DEFAULT},blocks=2+1x8".replace("stepped", shrinkage)
    clf, rng = taught(spec, world=world_of(24) if has_world else None), np.random.default_rng(0)
    queries = np.vstack([np.zeros(24), rng.normal(size=24), size * rng.normal(size=24)])
    for number in range(30):
        clf.learn(size * (1 + spread * rng.normal(size=24)), f"object {number % 3}")
        answer = clf.answer()
        left = answer.leave_one_out
        assert left is not None
        found = [*answer.scores_and_familiarity(queries), left.scores, left.familiarity]
        found += [answer.for_others, answer.maps, *answer.linear()]
        found += [answer.world_familiarity] if answer.world_familiarity is not None else []
        assert all(np.isfinite(each).all() for each in found)


@pytest.mark.parametrize("spec", [SPECS["published"][0], f"{DEFAULT},blocks=3"])
@pytest.mark.parametrize(("width", "noise"), [(60, 1e-3), (3, 1.0)])
def test_near_duplicates_and_blocks_of_one_number_follow_the_formulas(
    spec: str, width: int, noise: float
) -> None:
    """In a block of one number, the formula of OAS is a quotient of rounding errors."""
    rng = np.random.default_rng(1)
    points = (1 + noise * rng.normal(size=(60, width))).astype(np.float32)
    samples = [Sample("abc"[n % 3], point, str(n)) for n, point in enumerate(points)]
    clf = taught(spec)
    for count, sample in enumerate(samples, start=1):
        teach(clf, [sample])
        clf.answer()
        if count % 15 == 0:
            assert_formulas(clf, samples[:count])


def test_oas_shrinkage_is_close_to_that_of_scikit_learn_for_wide_embeddings() -> None:
    """scikit-learn omits the terms in 2 / width of the published formula."""
    rows = np.random.default_rng(0).normal(size=(50, 600)) * np.linspace(0.5, 2, 600)
    found = shrunk(scatter_of(rows), "oas", 50, 50, 1.0)
    covariance = (rows.T @ rows + found.ridge * np.eye(600)) / found.scale
    reference = OAS(assume_centered=True).fit(rows)
    np.testing.assert_allclose(covariance, reference.covariance_, atol=0.01)


@pytest.mark.parametrize("shrinkage", ["oas", "stepped"])
def test_a_scatter_of_rounding_errors_leads_to_the_identity(
    shrinkage: Literal["oas", "stepped"],
) -> None:
    rows = 1e-14 * np.random.default_rng(0).normal(size=(20, 8))
    found = shrunk(scatter_of(rows), shrinkage, 20, 20, 1.0)
    assert (found.ridge, found.scale) == (np.inf, 1)
    np.testing.assert_array_equal(Inverse(scatter_of(rows), found.ridge).apply(rows), rows)


def scatter_of(rows: NDArray[np.float64]) -> Scatter:
    found = Scatter(rows.shape[1], 0)
    found.add(rows)
    return found


@pytest.mark.parametrize(
    "option",
    [
        *("scatter=wide", "covariance=none", "score=sine", "keep=-1", "keep=1.5"),
        *("shrinkage=0", "shrinkage=2", "shrinkage=much"),
        *("earlier=-1", "earlier=17", "earlier=often"),
        *("world=10", "world=10,score=cosine,scatter=published"),
        *("world=-1,score=cosine", "world=1e9,score=cosine"),
        *("blocks=2+2", "blocks=0+2x8", "blocks=2+0x8", "blocks=2+2x0", "blocks=many", "blocks=65"),
    ],
)
def test_options_that_do_not_fit_are_refused(option: str) -> None:
    with pytest.raises(SpecError, match=option.partition("=")[0]):
        robocle.classifier(f"slda:{option}")


@pytest.mark.parametrize(("blocks", "width"), [("3", 10), ("2+2x8", 49)])
def test_embeddings_that_do_not_fit_the_layout_are_refused(blocks: str, width: int) -> None:
    clf = taught(f"slda:blocks={blocks}")
    with pytest.raises(FeatureError, match=f"width {width} cannot be divided into"):
        clf.learn(np.ones(width), "mug")
    assert clf.width is None


@pytest.mark.slow
def test_many_blocks_follow_many_new_labels() -> None:
    """The coefficients of the last block have room for as many new labels as it has lessons."""
    clf = robocle.classifier("slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=12")
    rng = np.random.default_rng(0)
    for number in range(920):
        clf.learn(rng.random(48), f"{number // 2}")
    clf.answer()
    for number in range(120):
        clf.learn(rng.random(48), f"new {number}")
        clf.answer()
    again = robocle.classifier("slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=12")
    again.restore(clf.state())
    queries = rng.random((5, 48))
    np.testing.assert_allclose(clf.scores(queries), again.scores(queries), rtol=1e-7, atol=1e-9)


def test_the_world_may_be_changed_by_its_owner_afterwards() -> None:
    world, samples = world_of(24), samples_of(12, 24, 3)
    clf = taught(f"{DEFAULT},blocks=3", world=world)
    world[:] = 0
    teach(clf, samples)
    assert_same(clf, taught(f"{DEFAULT},blocks=3", samples, world_of(24)))


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    samples = samples_of(8, 24, 2)
    clf = taught("slda", samples)
    for spec in ("ncm", "slda:shrinkage=0.5", "slda:keep=5"):
        with pytest.raises(InexactError, match="only equal classifiers can be merged"):
            clf.merge(robocle.classifier(spec).learn_one(np.ones(24), "mug"))
    with pytest.raises(FeatureError, match="width 48"):
        clf.merge(taught("slda", samples_of(8, 48, 2)))
    with pytest.raises(UnknownLabelError):
        clf.forget("mug")
    with pytest.raises(UnknownLabelError):
        clf.rename("mug", "cup")
    with pytest.raises(UnknownSampleError):
        clf.remove([samples[0].id, "no id"])
    assert_same(clf, taught("slda", samples))
