"""A lesson: a picture that was looked at to be taught, and whether it is good enough for that."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.images.quality import Complaint, near_duplicate, require_good
from robocle.spec import require_choice

GATES = ("warn", "refuse", "off")


@dataclass(frozen=True, eq=False)
class Lesson:
    """A picture that was looked at to be taught."""

    vector: NDArray[np.float32]
    """The mean over its views."""
    complaints: tuple[Complaint, ...]
    """What is wrong with it."""

    def complaints_after(self, last_embedding: NDArray[Any] | None) -> tuple[Complaint, ...]:
        """What is wrong with it, if that was the last picture taught."""
        if last_embedding is None or last_embedding.shape != self.vector.shape:
            return self.complaints
        again = near_duplicate(self.vector, last_embedding)
        return (*self.complaints, again) if again else self.complaints

    def pass_gate(self, gate: str, last_embedding: NDArray[Any] | None) -> tuple[Complaint, ...]:
        """What to warn of before it is taught; a gate that refuses does so."""
        require_choice("gate", gate, GATES)
        found = self.complaints_after(last_embedding) if gate != "off" else ()
        if gate == "refuse":
            require_good(found)
        return found
