"""Streaming linear discriminant analysis: class means and one covariance shared by all (eq. 3).

    scores = W z + b,   w_c = C^-1 m_c,   b_c = -1/2 m_c . w_c,   C the shrunk covariance

Each sample z of class y adds weight * v v^T to the scatter, where v = z - m_y is its deviation from
the class mean before the sample. The covariance is the scatter divided by the number of samples.
The option `scatter` selects the weight:
- `published`: t/(t+1), where t is the number of all earlier samples. The mean of a new class is 0,
  so its first sample adds z z^T. This is the update of the paper and of the public code.
- `exact`: c/(c+1), where c is the number of earlier samples of the class. This is the within-class
  scatter, exactly as it would be computed from all samples at once.

The option `score` selects the score of a class:
- `linear`: as above, the paper's discriminant.
- `cosine`: the cosine between z and m_c relative to the mean of the class means, under C^-1. The
  linear score compares |m_c|^2 between classes, a length that few shots estimate badly. With the
  option `world`, pictures of anything tell how familiar a picture is: see `scatter.familiarity`.

The scatter is stored in the compressed form for few samples and in the dense form for many. Both
are exact. The solution of the dense form is updated for new samples, which changes scores by up to
a relative 1e-6; leave-one-out scores are computed from a new factorisation.

With `scatter=exact`, all statistics are sums over classes, so two classifiers can be merged. A
label can also be forgotten together with its contribution to the covariance, as if it had never
been taught. The contributions are kept as class factors, up to as many samples as the embeddings
are wide (at least 256), or as many as `kept` says. With `keep=sums` they are not kept. A few
samples can be computed from the sums, too: see the page on classifiers.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.blas import one_blas_thread
from robocle.blocks import Blocks, Layout
from robocle.classifiers.embedding_numbers import embedding_numbers
from robocle.classifiers.scatter.block_weights import estimated_weight, require_weight
from robocle.classifiers.scatter.blocks import BlockScatters, Regulariser
from robocle.classifiers.scatter.class_factors import SUBSAMPLE, ClassFactors, SampleIndex
from robocle.classifiers.scatter.cosine import cosine_discriminant
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.classifiers.scatter.followed_scores import ChosenSamples
from robocle.classifiers.scatter.following import Answer, Following
from robocle.classifiers.scatter.forms import rebuilt_scatter
from robocle.classifiers.scatter.leave_one_out import (
    MAX_SAMPLES,
    LeaveOneOut,
    LeftOutSamples,
    chosen_samples,
    left_out,
    samples_of,
)
from robocle.classifiers.scatter.origin import MAX_WORLD, Origin, WorldPictures
from robocle.classifiers.scatter.shrinkage import require_shrinkage
from robocle.classifiers.state import (
    Arrays,
    ClassifierState,
    Matrix,
    Ownership,
    RowsCountedBy,
    Shared,
    Vector,
)
from robocle.classifiers.streaming import Scorer, StreamingClassifier
from robocle.errors import FeatureError, NothingTaughtError, SpecError, StateError
from robocle.spec import require_between, require_choice, require_whole
from robocle.types import Scores

Scatter = Literal["exact", "published"]
Covariance = Literal["full", "blocks"]
Scale = Literal["none", "blocks"]
Score = Literal["linear", "cosine"]
Keep = Literal["factors", "sums"]
MOST_KEPT = 1_000_000


class StreamingLDA(StreamingClassifier):
    """Linear discriminant analysis with streaming means and one shared covariance.

    Args:
        scatter: `exact` within-class scatter, or the `published` update.
        shrinkage: The weight of the identity in the covariance (1e-4 in the paper), or `oas`, which
            estimates it, or `stepped`: `oas` rounded to steps, between which cosine scores follow
            each sample without a new solution.
        covariance: `full`, or `blocks`: zero between the pooling's blocks.
        scale: `none`, or `blocks`: the pooling's blocks are first scaled to equal root mean square.
        score: `linear`, or `cosine`: relative to the mean of the class means, without lengths.
        blocks: The number of blocks in an embedding, or their layout, such as 3+2x672. A learner
            sets it from its pooling and its backbone.
        keep: `factors`: each class's contribution to the covariance, for exact forgetting and
            leave-one-out scores. Taught embeddings can be reconstructed from them. `sums`: only the
            sums over all classes.
        earlier: The weight in the scores of the blocks from the earlier map, or `auto`, which
            estimates it from left-out samples.
        kept: With `keep=factors`, the number of samples up to which all contributions are kept;
            beyond, up to 256 rows of them. `auto`: as many as the widest block has entries, at
            least 256.
        world: How many class means the world's mean counts as in the origin of the familiarity,
            from 0 to 1000, once `use_world` has set it. 0: no world is used.

    >>> clf = StreamingLDA(shrinkage=0.1)
    >>> for embedding in ([0, 0], [1, 0]):
    ...     clf.learn(embedding, "mug")
    >>> for embedding in ([0, 3], [1, 3]):
    ...     clf.learn(embedding, "pan")
    >>> clf.predict([[9, 1], [9, 2]])
    ['mug', 'pan']
    """

    def __init__(
        self,
        scatter: Scatter = "exact",
        shrinkage: float | Literal["oas", "stepped"] = "oas",
        covariance: Covariance = "full",
        scale: Scale = "none",
        score: Score = "linear",
        blocks: Layout = 1,
        keep: Keep = "factors",
        earlier: float | Literal["auto"] = "auto",
        kept: int | Literal["auto"] = "auto",
        world: float = 0.0,
    ) -> None:
        super().__init__()
        require_choice("scatter", scatter, get_args(Scatter))
        require_choice("covariance", covariance, get_args(Covariance))
        require_choice("scale", scale, get_args(Scale))
        require_choice("score", score, get_args(Score))
        require_choice("keep", keep, get_args(Keep))
        require_shrinkage(shrinkage)
        require_weight(earlier)
        if isinstance(kept, str):
            require_choice("kept", kept, ("auto",))
        else:
            require_whole("kept", kept, 0, MOST_KEPT)
        require_between("world", world, 0, MAX_WORLD)
        self._layout = Blocks.parse(blocks)
        if self._layout.earlier and scale == "blocks":
            raise SpecError(f"blocks={blocks} are of different widths: give scale=none")
        self.scatter = scatter
        self.shrinkage = shrinkage
        self.covariance = covariance
        self.scale = scale
        self.score = score
        self.blocks = self._layout.option
        self.keep = keep
        self.earlier = earlier
        self.kept = kept
        self.world = float(world)
        if self.world and (score != "cosine" or self._ridges() > 1):
            raise SpecError(f"world={world} needs score=cosine, with one ridge per covariance")
        self._world: WorldPictures | None = None
        self._following = self._new_following()
        self._scatters = self._new_scatters()
        # The embeddings that a state held, until something else is learned.
        self._embeddings: NDArray[Any] | None = None
        self._samples = 0
        self._freedom = 0
        self._energy = np.zeros(len(self._layout))
        self._changed()

    def _changed(self) -> None:
        """Discard what was computed from the statistics."""
        self._solved: tuple[Matrix, Vector] | None = None
        self._familiarity: Familiarity | None = None
        self._weights: list[float] | None = None
        self._left_out: LeaveOneOut | None = None
        self._world_scores: Vector | None = None
        self._answer: Answer | None = None

    @property
    def form(self) -> Literal["compressed", "dense"]:
        """The form in which the scatter is currently stored."""
        return "dense" if self._scatters.dense else "compressed"

    def _add_row(self) -> None:
        self._scatters.add_row(self.width or 0)

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> Matrix:
        checked = super()._checked(embeddings, axes)
        if self.width is None:
            self._layout.widths(checked.shape[-1])
        return checked

    def _learn(self, sample: Vector, row: int) -> None:
        self._embeddings = None
        count = self._counts[row]
        before = self._samples if self.scatter == "published" else count
        self._scatters.add(sample, row, weight=before / (before + 1), step=1 / (count + 1))
        self._samples += 1
        self._freedom += 1 if self.scatter == "published" or count else 0
        if self.scale == "blocks":
            blocks = sample.reshape(len(self._layout), -1)
            self._energy += np.einsum("ij,ij->i", blocks, blocks)
        self._changed()

    def _scores(self, embeddings: Matrix) -> Scores:
        return self.scorer()(embeddings)

    def scorer(self) -> Scorer:
        """Return a function that computes what `scores` does now; see `StreamingClassifier`."""
        if not self._labels:
            raise NothingTaughtError
        if self._following is not None:
            return self._answered().scorer.scores
        with one_blas_thread():
            return partial(linear_scores, *self.linear())

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        if not self._labels:
            raise NothingTaughtError
        if self._solved is None:
            follows = self._following is not None
            self._solved = self._answered().scorer.linear() if follows else self._solve()
        return self._solved

    def _answered(self) -> Answer:
        """Return what predictions need, from blocks that follow the samples."""
        assert self._following is not None
        if self._answer is None:
            with one_blas_thread():
                kept = self._scatters.residual_counts(self._counts)
                samples = chosen_samples(kept) if self._factors_known() else []
                self._answer = self._following.answer(
                    self._scatters.forms,
                    self._regularisers(),
                    self._origins(),
                    self._used_world(),
                    ChosenSamples.of(samples, self._counts),
                )
        return self._answer

    def _solve(self) -> tuple[Matrix, Vector]:
        weights, products = self._scatters.solve(self._regularisers(), self._block_weights())
        if self.score == "cosine":
            return cosine_discriminant(weights, products)
        return weights, -0.5 * products.squares

    def use_world(self, pictures: WorldPictures | ArrayLike) -> None:
        """Use embeddings of pictures of anything, to tell which pictures are familiar.

        They are not learned, and no part of the state. Without the option `world` nothing changes.

        Args:
            pictures: The embeddings (n, width).

        Raises:
            FeatureError: The embeddings are not made of real, finite numbers.
        """
        if not self.world or pictures is self._world:
            return
        if not isinstance(pictures, WorldPictures):
            pictures = WorldPictures(np.asarray(embedding_numbers(pictures, 2), np.float32))
        self._world = pictures
        self._changed()

    def world_scores(self) -> Vector | None:
        """Return the familiarity of each picture of the world, or None without one.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        world, familiarity = self._used_world(), self.familiarity()
        if world is None or familiarity is None:
            return None
        if self._following is not None:
            return self._answered().world_scores
        if self._world_scores is None:
            with one_blas_thread():
                self._world_scores = world.best_scores(*familiarity.linear(*self.linear()))
        return self._world_scores

    def familiarity(self) -> Familiarity | None:
        """Return what computes the familiarity of pictures, or None without a world.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        if not self._labels:
            raise NothingTaughtError
        if self._following is not None:
            return self._answered().familiarity
        if self._familiarity is None and self._used_world() is not None:
            self._familiarity = self._solve_familiarity()
        return self._familiarity

    def _solve_familiarity(self) -> Familiarity:
        solving = self._regularisers(), self._block_weights()
        (rows, ranking), (beside, judging) = (
            self._scatters.solve(*solving, origins) for origins in (None, self._origins())
        )
        direction = ranking.shares @ rows - judging.shares @ beside
        return Familiarity.of(direction, ranking, judging)

    def _used_world(self) -> WorldPictures | None:
        """Return the world if it fits the taught embeddings."""
        return self._world if self._world and self._world.width == self.width else None

    def _origins(self) -> list[Origin]:
        """Return the origin of the familiarity in each covariance's block."""
        world, widths = self._used_world(), self._scatters.widths
        if world is None:
            return [Origin.none(width) for width in widths]
        return world.origins(self.world, tuple(widths))

    def leave_one_out(self) -> LeaveOneOut | None:
        """Return leave-one-out scores of at most MAX_SAMPLES samples, or None if there are none.

        They require cosine scores, the exact scatter, class factors, and one ridge per covariance.
        """
        self._block_weights()
        return self._left_out

    def leave_one_out_of_all(self) -> Iterator[LeaveOneOut]:
        """Yield leave-one-out scores of samples of every label, in chunks of bounded size."""
        found = self.leave_one_out()
        if found is not None and len(self._labels) > MAX_SAMPLES:
            kept = self._scatters.residual_counts(self._counts)
            for samples in self._leave_out(samples_of(range(len(kept)), kept)):
                yield samples.scored(self._block_weights())
        elif found is not None:
            yield found

    def _block_weights(self) -> list[float]:
        """Return the weight of each covariance's block, and keep the leave-one-out scores."""
        if self._following is not None and self._labels:
            self._left_out = self._answered().left_out
            return self._answered().weights
        if self._weights is None:
            samples = self._left_out_samples()
            last = self._covariances().last
            self._weights = [1.0] * self._scatters.count
            if self._scatters.count > last:
                weight = self.earlier
                if isinstance(weight, str):
                    several = sum(count for count in self._counts if count > 1)
                    weight = estimated_weight(samples, several)
                self._weights[last:] = [float(weight)] * (self._scatters.count - last)
            self._left_out = samples.scored(self._weights) if samples is not None else None
        return self._weights

    def _left_out_samples(self) -> LeftOutSamples | None:
        possible = self.score == "cosine" and self._factors_known() and self._ridges() == 1
        if not possible or not self._labels:
            return None
        return next(self._leave_out(chosen_samples(self._scatters.residual_counts(self._counts))))

    def _leave_out(self, samples: list[SampleIndex]) -> Iterator[LeftOutSamples]:
        with one_blas_thread():
            products = self._scatters.products(
                self._regularisers(), samples, self._counts, self._origins()
            )
        rows, counts = (
            np.array([row for row, _ in samples], np.int64),
            np.array(self._counts, float),
        )
        return left_out(products, rows, counts, self._origins()[0], self._covariances().last)

    def _regularisers(self) -> list[Regulariser]:
        gains = self._gains()
        with one_blas_thread():
            return self._scatters.regularisers(gains, self.shrinkage, self._samples, self._freedom)

    def _gains(self) -> Vector:
        """Return the factors that scale the root mean square of each block to 1."""
        if self.scale == "none" or not self._energy.all():
            return np.ones(len(self._layout.fitting(self.width or 0)))
        entries = self._samples * (self.width or 0) / len(self._layout)
        return np.sqrt(entries / self._energy)

    def _ridges(self) -> int:
        """Return how many ridge parameters each covariance has."""
        return len(self._layout) if self.scale == "blocks" and self.covariance == "full" else 1

    def _covariances(self) -> Blocks:
        """Return the blocks that have a covariance of their own."""
        return self._layout if self.covariance == "blocks" else Blocks(1)

    def _new_scatters(self) -> BlockScatters:
        known = self._factors_known()
        most = None if isinstance(self.kept, str) else self.kept
        subsample = min(SUBSAMPLE, SUBSAMPLE if most is None else most) if known else 0
        new_factors = partial(ClassFactors, complete=known, subsample=subsample)
        return BlockScatters(self._covariances(), self._ridges(), new_factors, most)

    def _new_following(self) -> Following | None:
        """Return what follows the samples, or None if each solution must be computed anew."""
        follows = self.shrinkage == "stepped" and self.score == "cosine"
        if not follows or self.scatter != "exact" or self._ridges() > 1:
            return None
        return Following(self._covariances().last, self.earlier, factors=self._factors_known())

    def _factors_known(self) -> bool:
        return self.scatter == "exact" and self.keep == "factors"

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also removes its contribution to the covariance."""
        return self.scatter == "exact" and self._scatters.separable

    def _forget(self, row: int) -> None:
        self._embeddings = None
        exactly = self.forgets_exactly
        self._scatters.remove_row(row)
        if exactly:
            count = self._counts[row]
            self._samples -= count
            self._freedom -= count - 1
            self._energy = self._summed_energy(self._counts[:row] + self._counts[row + 1 :])
        self._changed()

    def _summed_energy(self, counts: list[int]) -> Vector:
        if self.scale == "none":
            return np.zeros(len(self._layout))
        return self._scatters.energies(np.array(counts, float), len(self._layout))

    def _merge_obstacle(self) -> str | None:
        if self.scatter == "published":
            return "the published scatter depends on the order of all samples; use scatter=exact"
        return None

    def _merge(self, other: "StreamingLDA", rows: list[int]) -> None:
        self._embeddings = None
        counts = np.array([self._counts[row] for row in rows], float)
        theirs = np.array(other._counts, float)
        steps = theirs / (counts + theirs)
        self._scatters.merge(other._scatters, rows, counts * steps, steps)
        self._samples += other._samples
        self._freedom += other._freedom + int((counts > 0).sum())
        self._energy = self._energy + other._energy
        self._changed()

    def _state(self) -> Arrays:
        if self.keep == "sums":
            self._scatters.discard_order()
        own = {
            "samples": np.array([self._samples, self._freedom], np.int64),
            "energy": self._energy.copy(),
        }
        # Where the factors determine all samples, these are a third as large and as exact.
        embeddings = self._embeddings
        known = self._factors_known() and self._samples == sum(self._counts) > 0
        if embeddings is None and known:
            with one_blas_thread():
                embeddings = self._scatters.samples(self._counts)
        if embeddings is not None:
            return {**own, "embeddings": embeddings}
        return own | self._scatters.state()

    def _restore(self, state: ClassifierState) -> int | None:
        samples, freedom = state.copied("samples", 2)
        self._samples, self._freedom = int(samples), int(freedom)
        if not 0 <= self._freedom <= self._samples or self._samples < sum(self._counts):
            raise StateError("state has inconsistent numbers of samples")
        self._energy = state.copied("energy", len(self._layout))
        self._changed()
        self._following = self._new_following()
        self._embeddings = None
        self._scatters = self._new_scatters()
        if state.has("embeddings"):
            return self._restore_samples(state)
        return self._scatters.restore(state)

    def _restore_samples(self, state: ClassifierState) -> int:
        embeddings = state.checked("embeddings", sum(self._counts), None)
        try:
            self._scatters.begin(embeddings.astype(np.float64), self._counts)
        except FeatureError as error:
            raise StateError(f"state has embeddings of another layout: {error}") from error
        if self._factors_known():
            self._embeddings = embeddings
        return int(embeddings.shape[1])

    def _array_owners(self) -> Mapping[str, Ownership]:
        embeddings = {"embeddings": RowsCountedBy("counts")}
        own: dict[str, Ownership] = {"samples": Shared(), "energy": Shared(), **embeddings}
        return {**own, **self._scatters.array_owners()}

    def rebuilt_array(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return a scatter as the sum of the class factors; None for other arrays."""
        return rebuilt_scatter(name, arrays)


def linear_scores(weights: Matrix, bias: Vector, embeddings: Matrix) -> Scores:
    """Return W z + b for each embedding z."""
    with one_blas_thread():
        scores: Scores = embeddings @ weights.T + bias
    return scores
