"""The quality gate: what happens to a poor picture that is about to be taught."""

from collections.abc import Callable
from typing import Any, get_args

from numpy.typing import NDArray

from robocle.images.quality import Complaint, Gate, near_duplicate, require_good
from robocle.spec import require_choice

GATES: tuple[str, ...] = get_args(Gate)


class QualityGate:
    """Checks pictures in the order in which they are taught.

    Args:
        gate: What to do about a poor picture.
        last_embedding: Returns the last embedding taught under a label, or None.

    Raises:
        SpecError: The gate is unknown.
    """

    def __init__(self, gate: Gate, last_embedding: Callable[[str], NDArray[Any] | None]) -> None:
        require_choice("gate", gate, GATES)
        self._gate = gate
        self._last_embedding = last_embedding
        self._checked: dict[str, NDArray[Any]] = {}

    def check(
        self, found: tuple[Complaint, ...], embedding: NDArray[Any], label: str
    ) -> tuple[Complaint, ...]:
        """Check one picture.

        Args:
            found: The faults found in the pixels of the picture.
            embedding: The embedding of the picture, to compare with the previous one of its label.
            label: The label of the picture.

        Returns:
            The faults to warn about.

        Raises:
            QualityError: The gate is `refuse` and the picture has a fault.
        """
        previous = self._checked.get(label)
        if previous is None:
            previous = self._last_embedding(label)
        self._checked[label] = embedding
        if self._gate == "off":
            return ()
        if previous is not None and previous.shape == embedding.shape:
            duplicate = near_duplicate(embedding, previous)
            found = (*found, duplicate) if duplicate else found
        if self._gate == "refuse":
            require_good(found)
        return found
