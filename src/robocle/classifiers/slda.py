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

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from robocle.blas import one_blas_thread
from robocle.blocks import Layout
from robocle.classifiers.contract import Scorer
from robocle.classifiers.embedding_numbers import embedding_numbers
from robocle.classifiers.scatter.block_weights import require_weight
from robocle.classifiers.scatter.familiarity import Familiarity
from robocle.classifiers.scatter.followed_scores import ChosenSamples
from robocle.classifiers.scatter.following import Answer, Following
from robocle.classifiers.scatter.leave_one_out import (
    MAX_SAMPLES,
    LeaveOneOut,
    chosen_samples,
    samples_of,
)
from robocle.classifiers.scatter.origin import MAX_WORLD, Origin, WorldPictures
from robocle.classifiers.scatter.solved_answer import SolvedAnswer
from robocle.classifiers.shared_covariance import (
    Covariance,
    Keep,
    Scale,
    Scatter,
    SharedCovarianceClassifier,
)
from robocle.classifiers.state import ClassifierState, Matrix, Vector
from robocle.errors import NothingTaughtError, SpecError
from robocle.spec import require_between, require_choice
from robocle.types import Scores

Score = Literal["linear", "cosine"]


class StreamingLDA(SharedCovarianceClassifier):
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
        super().__init__(scatter, shrinkage, covariance, scale, blocks, keep, kept)
        require_choice("score", score, get_args(Score))
        require_weight(earlier)
        require_between("world", world, 0, MAX_WORLD)
        if world and (score != "cosine" or self._ridges() > 1):
            raise SpecError(f"world={world} needs score=cosine, with one ridge per covariance")
        self.score = score
        self.earlier = earlier
        self.world = float(world)
        self._world: WorldPictures | None = None
        self._following = self._new_following()
        self._changed()

    def _changed(self) -> None:
        self._answer: Answer | SolvedAnswer | None = None
        self._linear: tuple[Matrix, Vector] | None = None

    def _scores(self, embeddings: Matrix) -> Scores:
        return self.scorer()(embeddings)

    def scorer(self) -> Scorer:
        """Return a function that computes what `scores` does now; see `StreamingClassifier`."""
        if self._following is not None:  # what it computes is limited to one thread already
            return self._answered().scorer.scores
        with one_blas_thread():
            return self._answered().scorer.scores

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        if self._linear is None:
            self._linear = self._answered().scorer.linear()
        return self._linear

    def _answered(self) -> Answer | SolvedAnswer:
        """Return what predictions need, which is computed once after each change."""
        if not self._labels:
            raise NothingTaughtError
        if self._answer is None:
            follows = self._following is not None
            self._answer = self._followed() if follows else self._solved()
        return self._answer

    def _followed(self) -> Answer:
        assert self._following is not None
        with one_blas_thread():
            kept = self._scatters.residual_counts(self._counts)
            samples = chosen_samples(kept) if self._factors_known() else []
            return self._following.answer(
                self._scatters.forms,
                self._regularisers(),
                self._origins(),
                self._used_world(),
                ChosenSamples.of(samples, self._counts),
            )

    def _solved(self) -> SolvedAnswer:
        return SolvedAnswer(
            self._scatters,
            self._regularisers(),
            tuple(self._counts),
            self._origins(),
            self._used_world(),
            self.score,
            self.earlier,
            leaves_out=self.score == "cosine" and self._factors_known() and self._ridges() == 1,
        )

    def _new_following(self) -> Following | None:
        """Return what follows the samples, or None if each solution must be computed anew."""
        follows = self.shrinkage == "stepped" and self.score == "cosine"
        if not follows or self.scatter != "exact" or self._ridges() > 1:
            return None
        return Following(self._covariances().last, self.earlier, factors=self._factors_known())

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

    def world_familiarity(self) -> Vector | None:
        """Return the familiarity of each picture of the world, or None without one.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        return self._answered().world_familiarity

    def familiarity(self) -> Familiarity | None:
        """Return what computes the familiarity of pictures, or None without a world.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        return self._answered().familiarity

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
        return self._answered().left_out if self._labels else None

    def leave_one_out_of_all(self) -> Iterator[LeaveOneOut]:
        """Yield leave-one-out scores of samples of every label, in chunks of bounded size."""
        found = self.leave_one_out()
        if found is not None and len(self._labels) > MAX_SAMPLES:
            kept = self._scatters.residual_counts(self._counts)
            samples = samples_of(range(len(kept)), kept)
            each = self._scatters.left_out(
                self._regularisers(), samples, self._counts, self._origins()
            )
            for chunk in each:
                yield chunk.scored(self._answered().weights)
        elif found is not None:
            yield found

    def _restore(self, state: ClassifierState) -> int | None:
        self._following = self._new_following()
        return super()._restore(state)
