"""The quality gate: what happens to a poor picture that is about to be taught."""

from collections.abc import Callable
from typing import Any, get_args

from numpy.typing import NDArray

from robocle.images.quality import Complaint, Poor, near_duplicate, require_good
from robocle.images.sketches import DUPLICATE, SAME, Similar, Sketches, sketch
from robocle.spec import require_choice

POOR: tuple[str, ...] = get_args(Poor)


class QualityGate:
    """Checks pictures in the order in which they are taught.

    Args:
        poor: What to do about a poor picture: "warn", "skip", "refuse" or "accept".
        last_embedding: Returns the last embedding taught under a label, or None.
        taught: The pictures that were taught before, under any label.

    Raises:
        SpecError: `poor` is none of the choices.
    """

    def __init__(
        self,
        poor: Poor,
        last_embedding: Callable[[str], NDArray[Any] | None],
        taught: Sketches,
    ) -> None:
        require_choice("poor", poor, POOR)
        self._poor = poor
        self.skips_poor = poor == "skip"
        self._last_embedding = last_embedding
        self._taught = taught
        self._checked: dict[str, NDArray[Any]] = {}
        self._new = Sketches()

    def check(
        self, found: tuple[Complaint, ...], embedding: NDArray[Any], label: str
    ) -> tuple[Complaint, ...]:
        """Check one picture.

        Args:
            found: The faults found in the pixels of the picture.
            embedding: The embedding of the picture, to compare with those taught before.
            label: The label of the picture.

        Returns:
            The faults to warn about. If there are any and `skips_poor` is true, the picture is not
            to be taught.

        Raises:
            QualityError: `poor` is "refuse" and the picture has a fault.
        """
        if self._poor == "accept":
            return ()
        row = sketch(embedding)
        duplicate = self._duplicate(embedding, row, label)
        found = (*found, duplicate) if duplicate else found
        if self._poor == "refuse":
            require_good(found)
        if not (found and self.skips_poor):
            self._checked[label] = embedding
            self._new = self._new.added([row], [label])
        return found

    def _duplicate(
        self, embedding: NDArray[Any], row: NDArray[Any], label: str
    ) -> Complaint | None:
        """Return a complaint if the picture was taught before."""
        known = [near for each in (self._taught, self._new) if (near := each.nearest(row))]
        nearest = min(known, key=lambda similar: similar.distance, default=None)
        previous = self._checked.get(label)
        if previous is None:
            previous = self._last_embedding(label)
        if nearest and nearest.distance < DUPLICATE and nearest.label != label:
            return _under_another_label(nearest)
        if previous is not None and previous.shape == embedding.shape:
            repeated = near_duplicate(embedding, previous, label)
            if repeated:
                return repeated
        return _taught_before(nearest) if nearest and nearest.distance < DUPLICATE else None


def _under_another_label(similar: Similar) -> Complaint:
    how = "the same" if similar.distance < SAME else "almost the same"
    return Complaint(
        "duplicate",
        similar.distance,
        f"{how} picture was taught as {similar.label!r}: teach it under one label only",
        similar.label,
    )


def _taught_before(similar: Similar) -> Complaint:
    return Complaint(
        "duplicate",
        similar.distance,
        f"near-duplicate of a picture already taught as {similar.label!r} (difference "
        f"{similar.distance:.2f}, must be at least {DUPLICATE}): turn the object, or move it",
        similar.label,
    )
