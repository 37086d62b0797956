"""Streaming linear discriminant analysis: class means and one covariance shared by all (eq. 3).

    scores = W z + b,   w_c = C^-1 m_c,   b_c = -1/2 m_c . w_c,   C the shrunk covariance

The covariance is a sum of weight * v v^T with v = z - m_y, the mean before the sample, so the sum
itself is kept and divided by the number of samples when it is solved. `scatter` names the weights:
- `published`: t/(t+1), t the number of all samples before, and a new class starts at mean 0, so its
  first sample adds z z^T. The update of the paper and of the public code it builds on.
- `exact`: c/(c+1), c the class's own count before: the within-class scatter, as if all were known.

`score` names how a class is scored:
- `linear`: as above, the paper's.
- `cosine`: the cosine between z and m_c, both seen from the mean of the class means and measured
  by C^-1.
  The linear score compares |m_c|^2 between classes, and few shots know that length badly.

Few samples are kept in the compressed form, many in the dense one; both are exact and the switch
happens by itself.

With `exact`, all is sums over classes: two classifiers merge, and a label is forgotten with its
share of the covariance, as if all had been taught here, or it never had. Past as many samples as
the vectors are wide the shares are no longer told apart, and a forgotten label's stays.
"""

from collections.abc import Iterator

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.scatter.class_factors import SAMPLED, ClassFactors
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.cosine import cosine_discriminant
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.forms import Form, fitting, merged
from robocle.classifiers.scatter.leave_one_out import (
    LeaveOneOut,
    chosen_samples,
    leave_one_out_scores,
)
from robocle.classifiers.scatter.shrinkage import fixed, oracle_approximating
from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
)
from robocle.errors import FeatureError, NothingTaughtError, SpecError, StateError
from robocle.spec import require_between, require_choice
from robocle.types import Scores

MIN_SHRINKAGE = 1e-9
# Relative to the samples' squares: a scatter below this is rounding, of pictures that are the same.
NEGLIGIBLE = 1e-24
# Relative to the covariance's trace: below this, float64 cannot tell the ridge from rounding.
SMALLEST_RIDGE = 1e-13


class StreamingLDA(StreamingClassifier):
    """Linear discriminant analysis with streaming means and one shared covariance.

    scatter: `exact` within-class scatter, or the `published` update.
    shrinkage: a number (the paper: 1e-4), or `oas`.
    covariance: `full`, or `blocks`: none between the pooling's blocks.
    scale: `none`, or `blocks`: the pooling's blocks brought to one size first.
    score: `linear`, or `cosine`: about the mean of the classes, lengths left aside.
    """

    def __init__(
        self,
        scatter: str = "exact",
        shrinkage: float | str = "oas",
        covariance: str = "full",
        scale: str = "none",
        score: str = "linear",
        blocks: int = 1,
    ) -> None:
        super().__init__()
        require_choice("scatter", scatter, ("exact", "published"))
        require_choice("covariance", covariance, ("full", "blocks"))
        require_choice("scale", scale, ("none", "blocks"))
        require_choice("score", score, ("linear", "cosine"))
        require_between("blocks", blocks, 1, 64)
        if isinstance(shrinkage, str):
            if shrinkage != "oas":
                raise SpecError(f"shrinkage={shrinkage} is not known: give a number or oas")
        else:
            require_between("shrinkage", shrinkage, MIN_SHRINKAGE, 1)
        self.scatter = scatter
        self.shrinkage = shrinkage
        self.covariance = covariance
        self.scale = scale
        self.score = score
        self.blocks = blocks
        self._forms: list[Form] = []
        self._samples = 0
        self._freedom = 0
        self._energy = np.zeros(blocks)
        self._solved: tuple[Matrix, Vector] | None = None
        self._left_out: LeaveOneOut | None = None

    @property
    def form(self) -> str:
        """How the covariance is kept at the moment: `compressed` or `dense`."""
        dense = any(isinstance(form, DenseScatter) for form in self._forms)
        return "dense" if dense else "compressed"

    def _add_row(self) -> None:
        if not self._forms:
            self._forms = [
                CompressedScatter(self._form_width(), self._form_blocks(), self._no_parts())
                for _ in range(self._form_count())
            ]
        for form in self._forms:
            form.add_row()

    def _checked(self, vectors: Matrix, axes: int) -> Matrix:
        checked = super()._checked(vectors, axes)
        if checked.shape[-1] % self.blocks:
            raise FeatureError(
                f"a vector of {checked.shape[-1]} entries has no {self.blocks} equal blocks"
            )
        return checked

    def _learn(self, sample: Vector, row: int) -> None:
        count = self._counts[row]
        before = self._samples if self.scatter == "published" else count
        parts = sample.reshape(len(self._forms), -1)
        for number, form in enumerate(self._forms):
            form.add(parts[number], row, weight=before / (before + 1), step=1 / (count + 1))
            self._forms[number] = fitting(form)
        self._samples += 1
        self._freedom += 1 if self.scatter == "published" or count else 0
        if self.scale == "blocks":
            blocks = sample.reshape(self.blocks, -1)
            self._energy += np.einsum("ij,ij->i", blocks, blocks)
        self._solved = self._left_out = None

    def _scores(self, vectors: Matrix) -> Scores:
        with one_blas_thread():
            weights, bias = self.linear()
            scores: Scores = vectors @ weights.T + bias
        return scores

    def linear(self) -> tuple[Matrix, Vector]:
        """W and b with scores = W z + b."""
        if not self._labels:
            raise NothingTaughtError
        if self._solved is None:
            self._solved = self._solve()
        return self._solved

    def _solve(self) -> tuple[Matrix, Vector]:
        solved = [form.solve(*regular) for form, regular in self._regularised_forms()]
        weights = np.hstack([weights for weights, _ in solved])
        products = np.sum([products for _, products in solved], axis=0)
        if self.score == "cosine":
            return cosine_discriminant(weights, products)
        return weights, -0.5 * np.diagonal(products)

    def leave_one_out(self) -> LeaveOneOut | None:
        """What it would have said of its own samples, had it not learnt them.

        Only with cosine scores and the exact scatter, and with one scale in each covariance.
        """
        possible = self.score == "cosine" and self.scatter == "exact" and self._form_blocks() == 1
        if self._left_out is None and possible and self._labels:
            self._left_out = self._leave_one_out()
        return self._left_out

    def _leave_one_out(self) -> LeaveOneOut:
        kept = np.min([form.residual_counts(self._counts) for form in self._forms], axis=0)
        picked = chosen_samples(kept.tolist())
        with one_blas_thread():
            parts = [
                form.products(*regular, picked, self._counts)
                for form, regular in self._regularised_forms()
            ]
        rows = np.array([row for row, _ in picked], np.int64)
        return leave_one_out_scores(parts, rows, np.array(self._counts, np.float64))

    def _regularised_forms(self) -> Iterator[tuple[Form, tuple[float, Vector]]]:
        """Each form with what makes its shrunk covariance."""
        for form, gains in zip(self._forms, np.split(self._gains(), len(self._forms)), strict=True):
            yield form, self._regularised(form, gains)

    def _regularised(self, form: Form, gains: Vector) -> tuple[float, Vector]:
        """The share of the scatter and the ridge of each block that make the shrunk covariance.

        Blocks scaled by g turn (s S + e I) into (s G S G + e I), which is a ridge of e / g^2.
        """
        power = gains[: form.blocks] ** 2
        trace = float(form.traces() @ power)
        if trace <= NEGLIGIBLE * self._samples * form.largest_square() * float(power.max()):
            trace = 0.0
        if isinstance(self.shrinkage, str):
            square = float(power @ form.squares() @ power)
            shrunk = oracle_approximating(self._samples, self._freedom, form.width, trace, square)
        else:
            shrunk = fixed(self.shrinkage, self._samples)
        ridge = max(shrunk.ridge, SMALLEST_RIDGE * shrunk.share * trace)
        return shrunk.share, ridge / power

    def _gains(self) -> Vector:
        """What brings each block's root mean square to 1."""
        if self.scale == "none" or not self._energy.all():
            return np.ones(self.blocks)
        entries = self._samples * (self.width or 0) / self.blocks
        return np.sqrt(entries / self._energy)

    def _form_count(self) -> int:
        return self.blocks if self.covariance == "blocks" else 1

    def _form_width(self) -> int:
        return (self.width or 0) // self._form_count()

    def _form_blocks(self) -> int:
        return self.blocks if self.scale == "blocks" and self.covariance == "full" else 1

    @property
    def forgets_exactly(self) -> bool:
        """Whether a forgotten label takes its share of the covariance with it."""
        return self.scatter == "exact" and all(form.separable for form in self._forms)

    def _forget(self, row: int) -> None:
        """The class's mean goes, and its share of the covariance where that is known."""
        exactly = self.forgets_exactly
        for form in self._forms:
            form.remove_row(row)
        if exactly:
            count = self._counts[row]
            self._samples -= count
            self._freedom -= count - 1
            self._energy = self._summed_energy(self._counts[:row] + self._counts[row + 1 :])
        self._solved = self._left_out = None

    def _summed_energy(self, counts: list[int]) -> Vector:
        if self.scale == "none":
            return np.zeros(self.blocks)
        blocks = self.blocks // self._form_count()
        energies = [form.energies(np.array(counts, float), blocks) for form in self._forms]
        return np.concatenate(energies)

    def _why_no_merge(self) -> str | None:
        if self.scatter == "published":
            return "the published scatter depends on the order of all samples"
        return None

    def _merge(self, other: "StreamingLDA", rows: list[int]) -> None:
        counts = np.array([self._counts[row] for row in rows], float)
        theirs = np.array(other._counts, float)
        steps = theirs / (counts + theirs)
        for number, (mine, added) in enumerate(zip(self._forms, other._forms, strict=True)):
            self._forms[number] = merged(mine, added, rows, counts * steps, steps)
        self._samples += other._samples
        self._freedom += other._freedom + int((counts > 0).sum())
        self._energy = self._energy + other._energy
        self._solved = self._left_out = None

    def _state(self) -> Arrays:
        arrays: Arrays = {
            "samples": np.array([self._samples, self._freedom], np.int64),
            "energy": self._energy.copy(),
        }
        for number, form in enumerate(self._forms):
            arrays |= {f"{number}.{name}": array for name, array in form.state().items()}
        return arrays

    def _restore(self, state: ClassifierState) -> int | None:
        samples, freedom = state.take("samples", 2)
        self._samples, self._freedom = int(samples), int(freedom)
        if not 0 <= self._freedom <= self._samples or self._samples < sum(self._counts):
            raise StateError("state counts more samples than it has learnt")
        self._energy = state.take("energy", self.blocks)
        self._solved = self._left_out = None
        self._forms = []
        if not any("." in name for name in state.arrays) and not self._labels:
            return None  # nothing was ever taught
        self._forms = [self._restored_form(state, n) for n in range(self._form_count())]
        if len({form.width for form in self._forms}) != 1:
            raise StateError("state has covariance blocks of different widths")
        return self._forms[0].width * len(self._forms)

    def _restored_form(self, state: ClassifierState, number: int) -> Form:
        prefix = f"{number}."
        dense = f"{prefix}means" in state.arrays
        kind = DenseScatter if dense else CompressedScatter
        width = state.take(prefix + ("means" if dense else "basis"), None, None).shape[1]
        return kind.restored(state, prefix, width, self._form_blocks(), self._no_parts())

    def _no_parts(self) -> ClassFactors:
        """Where each class's part of the scatter goes; the published one has no such parts."""
        exact = self.scatter == "exact"
        return ClassFactors(complete=exact, sampled=SAMPLED if exact else 0)
