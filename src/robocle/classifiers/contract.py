"""What a classifier must implement, and what it may implement.

The index of a label, in order of teaching, is its row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Vector
from robocle.errors import InexactError
from robocle.types import Scores

if TYPE_CHECKING:
    from robocle.classifiers.scatter.familiarity import Familiarity
    from robocle.classifiers.scatter.leave_one_out import LeaveOneOut
    from robocle.classifiers.scatter.origin import WorldPictures

Scorer = Callable[[Matrix], Scores]
"""Scores embeddings (n, width): (n, labels)."""


class ClassifierContract(ABC):
    """The methods that define a classifier: six to implement, and some that are optional.

    A subclass of `StreamingClassifier` is configured by its constructor arguments and keeps each of
    them in an attribute of the same name. It must implement `_add_row`, `_learn`, `_scores`,
    `_forget`, `_state` and `_restore`. It may implement `_merge` (together with `_merge_obstacle`)
    and `_array_owners`, and override the public methods below. It can rely on the following:

    - labels are valid, and embeddings are finite float64 arrays of one width, `self.width`;
    - `StreamingClassifier` maintains `self._labels` and `self._counts`, both indexed by row;
    - `_scores` is called only after something has been taught;
    - if `_restore` raises a RobocleError, the previous state of the classifier is restored.

    In return, it must index what it learns about labels by row, return finite scores for any
    embedding, return the same scores whether or not scores were computed before, and draw random
    numbers from a seed. `robocle.contract.check_classifier` checks these rules.
    """

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._counts: list[int] = []
        self.width: int | None = None

    @abstractmethod
    def _add_row(self) -> None:
        """Add a row for a new label. `self.width` is already set."""

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
        """Return all arrays except the counts. What is learned later must not change them."""

    @abstractmethod
    def _restore(self, state: ClassifierState) -> int | None:
        """Replace all arrays and return the width (None if nothing was ever taught).

        `self._labels` and `self._counts` have already been restored. Read arrays with
        `state.copied`, which raises StateError if an array is damaged.
        """

    def _array_owners(self) -> Mapping[str, Ownership]:
        """Return which labels own the rows of each array of `_state`; others count as shared."""
        return {}

    def _merge_obstacle(self) -> str | None:
        """Return why two classifiers of this kind cannot be merged exactly, or None if they can."""
        return "what it learns depends on the order of the samples; use ncm or slda:scatter=exact"

    def _merge(self, other: Any, rows: list[int]) -> None:
        """Add what another classifier has learned.

        Args:
            other: The other classifier.
            rows: The row in this classifier of each label of the other; some rows may be new.
                `self._counts` does not include the samples of the other classifier yet.
        """
        raise NotImplementedError

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label leaves the classifier as if it had never been taught."""
        return False

    @property
    def shares_states(self) -> bool:
        """Whether its states may share large arrays with it, in the layout that it works on."""
        return False

    def scorer(self) -> "Scorer | None":
        """Return a function that computes what `scores` does now, whatever is learned later.

        Several threads may call it at once. It does not check its input.

        Returns:
            The function; None if only the classifier itself can compute scores.
        """
        return None

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W (labels, width) and b with scores = W z + b, up to a term common to all labels.

        Raises:
            InexactError: The classifier does not provide linear scores.
            NothingTaughtError: Nothing has been taught yet.
        """
        raise InexactError(f"{type(self).__name__} has no linear scores: use ncm or slda")

    def leave_one_out(self) -> "LeaveOneOut | None":
        """Return leave-one-out scores of a bounded number of samples; None if there are none."""
        return None

    def leave_one_out_of_all(self) -> "Iterator[LeaveOneOut]":
        """Yield leave-one-out scores of samples of every label, in chunks of bounded size."""
        found = self.leave_one_out()
        if found is not None:
            yield found

    def use_world(self, pictures: "WorldPictures | ArrayLike") -> None:  # noqa: B027
        """Use embeddings of pictures of anything, (n, width). Most classifiers make no use of them.

        They are not learned, and no part of the state.
        """

    def world_familiarity(self) -> Vector | None:
        """Return the familiarity of each picture of the world; None if there is no world."""
        return None

    def familiarity(self) -> "Familiarity | None":
        """Return what computes the familiarity of pictures; None if there is no world."""
        return None

    def rebuilt_array(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return an array computed from the other arrays of a state, or None if it cannot be."""
        return None
