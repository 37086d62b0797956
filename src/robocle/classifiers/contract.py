"""What a classifier implements. A label's index in the order of teaching is called its row."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Vector
from robocle.types import Scores


class ClassifierContract(ABC):
    """The arithmetic of a classifier: six methods to implement, and some that are optional.

    A subclass of `StreamingClassifier` is configured by its constructor arguments, each of which it
    keeps in an attribute of the same name. It must implement `_add_row`, `_learn`, `_scores`,
    `_forget`, `_state` and `_restore`. It may implement `_merge` (together with `_merge_obstacle`)
    and `_array_owners`, and override the public `forgets_exactly`, `linear`, `leave_one_out` and
    `rebuilt_array`. It can rely on this:

    - labels are valid, and embeddings are finite float64 arrays of one width, `self.width`;
    - `self._labels` and `self._counts`, by row, are kept up to date by `StreamingClassifier`;
    - `_scores` is called only after something was taught;
    - if `_restore` raises a RobocleError, the classifier is put back as it was before.

    In return it keeps a label's numbers by row, returns finite scores for any embedding, returns
    the same scores whether or not scores were computed before, and draws random numbers from a
    seed. `robocle.contract.check_classifier` checks all this.
    """

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._counts: list[int] = []
        self.width: int | None = None

    @abstractmethod
    def _add_row(self) -> None:
        """Make room for a new label. `self.width` is known."""

    @abstractmethod
    def _learn(self, sample: Vector, row: int) -> None:
        """Learn a sample. `self._counts[row]` does not include it yet."""

    @abstractmethod
    def _scores(self, embeddings: Matrix) -> Scores:
        """Return the scores (n, labels) of embeddings (n, width)."""

    @abstractmethod
    def _forget(self, row: int) -> None:
        """Remove a row. `self._labels` and `self._counts` still include it."""

    @abstractmethod
    def _state(self) -> Arrays:
        """Return copies of all arrays but the counts."""

    @abstractmethod
    def _restore(self, state: ClassifierState) -> int | None:
        """Replace all arrays, and return the width (None if nothing was ever taught).

        `self._labels` and `self._counts` are those of the state already. Take arrays out with
        `state.copied`, which raises StateError on damage.
        """

    def _array_owners(self) -> Mapping[str, Ownership]:
        """Return who owns the rows of each array of `_state`; those left out count as shared."""
        return {}

    def _merge_obstacle(self) -> str | None:
        """Return why two classifiers of this kind cannot be merged exactly, or None if they can."""
        return "what it learns depends on the order of the samples; use ncm or slda:scatter=exact"

    def _merge(self, other: Any, rows: list[int]) -> None:
        """Add the arrays of another; `rows` are the rows of its labels here, some of them new.

        `self._counts` does not include the samples of the other yet.
        """
        raise NotImplementedError
