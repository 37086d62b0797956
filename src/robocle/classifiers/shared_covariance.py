"""Classifiers that keep class means and one covariance shared by all classes, as sums.

Each sample z of class y adds weight * v v^T to the scatter, where v = z - m_y is its deviation from
the class mean before the sample. `robocle.classifiers.slda` explains the options.
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.blas import one_blas_thread
from robocle.blocks import Blocks, Layout
from robocle.classifiers.scatter.blocks import BlockScatters, Regulariser
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.class_samples import TaughtEmbeddings
from robocle.classifiers.scatter.forms import rebuilt_scatter
from robocle.classifiers.scatter.shrinkage import require_shrinkage
from robocle.classifiers.scatter.subsample import SUBSAMPLE
from robocle.classifiers.state import (
    Arrays,
    ClassifierState,
    Matrix,
    Ownership,
    RowsCountedBy,
    Shared,
    Vector,
)
from robocle.classifiers.streaming import StreamingClassifier
from robocle.classifiers.waiting_samples import WaitingSamples
from robocle.errors import FeatureError, SpecError, StateError
from robocle.spec import require_choice, require_whole

Scatter = Literal["exact", "published"]
Shrinkage = float | Literal["oas", "stepped"]
Covariance = Literal["full", "blocks"]
Scale = Literal["none", "blocks"]
Keep = Literal["factors", "sums"]
Kept = int | Literal["auto"]
MOST_KEPT = 1_000_000


class SharedCovarianceClassifier(StreamingClassifier):
    """Keeps class means and the shared scatter; subclasses compute scores from them."""

    def __init__(
        self,
        scatter: Scatter,
        shrinkage: Shrinkage,
        covariance: Covariance,
        scale: Scale,
        blocks: Layout,
        keep: Keep,
        kept: Kept,
    ) -> None:
        super().__init__()
        require_choice("scatter", scatter, get_args(Scatter))
        require_choice("covariance", covariance, get_args(Covariance))
        require_choice("scale", scale, get_args(Scale))
        require_choice("keep", keep, get_args(Keep))
        require_shrinkage(shrinkage)
        if isinstance(kept, str):
            require_choice("kept", kept, ("auto",))
        else:
            require_whole("kept", kept, 0, MOST_KEPT)
        self._layout = Blocks.parse(blocks)
        if self._layout.earlier and scale == "blocks":
            raise SpecError(f"blocks={blocks} are of different widths: give scale=none")
        self.scatter = scatter
        self.shrinkage = shrinkage
        self.covariance = covariance
        self.scale = scale
        self.blocks = self._layout.option
        self.keep = keep
        self.kept = kept
        self._summed = self._new_scatters()
        self._waiting: WaitingSamples | None = None
        # The embeddings of the last state: those that were taught first.
        self._embeddings: TaughtEmbeddings | None = None
        self._samples = 0
        self._freedom = 0
        self._energy = np.zeros(len(self._layout))

    @abstractmethod
    def _changed(self) -> None:
        """Discard what was computed from the statistics."""

    @property
    def _scatters(self) -> BlockScatters:
        """The scatters, with all samples. Those of a state are added at the first use."""
        if self._waiting is not None:
            self._waiting.move_to(self._summed)
            self._waiting = None
        return self._summed

    def _next(self) -> BlockScatters | WaitingSamples:
        """Return what takes the next sample or class."""
        if self._waiting is None or self._waiting.full:
            return self._scatters
        return self._waiting

    @property
    def form(self) -> Literal["compressed", "dense"]:
        """The form in which the scatter is currently stored."""
        return "dense" if self._scatters.dense else "compressed"

    def _add_row(self) -> None:
        self._next().add_row(self.width or 0)

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> Matrix:
        checked = super()._checked(embeddings, axes)
        if self.width is None:
            self._layout.widths(checked.shape[-1])
        return checked

    def _learn(self, sample: Vector, row: int) -> None:
        count = self._counts[row]
        before = self._samples if self.scatter == "published" else count
        self._next().add(sample, row, weight=before / (before + 1), step=1 / (count + 1))
        self._samples += 1
        self._freedom += 1 if self.scatter == "published" or count else 0
        if self.scale == "blocks":
            blocks = sample.reshape(len(self._layout), -1)
            self._energy += np.einsum("ij,ij->i", blocks, blocks)
        self._changed()

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

    def _factors_known(self) -> bool:
        return self.scatter == "exact" and self.keep == "factors"

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also removes its contribution to the covariance."""
        return self.scatter == "exact" and self._scatters.separable

    @property
    def shares_states(self) -> bool:
        """Whether its states may share large arrays with it, in the layout that it works on."""
        return self._waiting is None and self._scatters.dense

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

    def _merge(self, other: "SharedCovarianceClassifier", rows: list[int]) -> None:
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
        if self._factors_known() and self._samples == sum(self._counts) > 0:
            self._embeddings = self._taught_embeddings()
            if self._embeddings is not None:
                return {**own, "embeddings": self._embeddings.rows}
        return own | self._scatters.state()

    def _taught_embeddings(self) -> TaughtEmbeddings | None:
        """Return all embeddings, if the scatters determine them; only the last are computed."""
        known = self._embeddings
        if known is not None and known.counts == tuple(self._counts):
            return known
        with one_blas_thread():
            return self._scatters.samples(self._counts, known)

    def _restore(self, state: ClassifierState) -> int | None:
        samples, freedom = state.copied("samples", 2)
        self._samples, self._freedom = int(samples), int(freedom)
        if not 0 <= self._freedom <= self._samples or self._samples < sum(self._counts):
            raise StateError("state has inconsistent numbers of samples")
        self._energy = state.copied("energy", len(self._layout))
        self._changed()
        self._embeddings = None
        self._summed, self._waiting = self._new_scatters(), None
        if state.has("embeddings"):
            return self._restore_samples(state)
        return self._scatters.restore(state)

    def _restore_samples(self, state: ClassifierState) -> int:
        embeddings = state.checked("embeddings", sum(self._counts), None)
        try:
            self._covariances().widths(embeddings.shape[1])
        except FeatureError as error:
            raise StateError(f"state has embeddings of another layout: {error}") from error
        taught = TaughtEmbeddings.of(embeddings, self._counts)
        self._waiting = WaitingSamples(taught)
        if self._factors_known():
            self._embeddings = taught
        return int(embeddings.shape[1])

    def _array_owners(self) -> Mapping[str, Ownership]:
        embeddings = {"embeddings": RowsCountedBy("counts")}
        own: dict[str, Ownership] = {"samples": Shared(), "energy": Shared(), **embeddings}
        return {**own, **self._summed.array_owners()}

    def rebuilt_array(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return a scatter as the sum of the class factors; None for other arrays."""
        return rebuilt_scatter(name, arrays)
