"""Folded samples: a decision on a label as a whole reaches the sums of every robot.

The log has each sample, but a robot that has folded some holds their sum, with one label. When that
label is renamed or forgotten here, the decision is published for each of its samples. When others
have decided so on all of them, the sum follows. A single folded sample stays where it is.
"""

from collections.abc import Iterable

from robocle.fleet.membership import Membership
from robocle.fleet.messages import MOST_IDS, Decision
from robocle.fleet.view import View
from robocle.store.change import Change
from robocle.store.state import State

FOLDED = "SELECT id FROM samples WHERE fold > 0 AND pictures = 0"
SUMS = "SELECT id, label, decided FROM samples WHERE fold > 0 AND pictures > 0 AND origin = ?"


class FoldedLabels:
    """The labels of what is folded in a state, as they were when they were last looked at.

    Args:
        state: The state.
        known: What is known of the log.
        view: What the robot follows of it.
    """

    def __init__(self, state: State, known: Membership, view: View) -> None:
        self._state, self._known, self._view = state, known, view

    def decisions(self) -> list[Decision]:
        """Return what was decided here on sums, for each of their samples."""
        found: list[Decision] = []
        before = self._known.labels()
        for id, label, decided in self._state.query(SUMS, self._state.origin):
            old = before.get(id, label)
            if old is not None and old != label:
                ids = [each for each, (_, known) in self._samples() if known == old]
                found += [
                    Decision(tuple(ids[start : start + MOST_IDS]), label, decided)
                    for start in range(0, len(ids), MOST_IDS)
                ]
        return found

    def note(self) -> None:
        """Note the labels of sums, all decisions on which are published."""
        self._known.note_labels(
            (id, label) for id, label, _ in self._state.query(SUMS, self._state.origin)
        )

    def follow(self, change: Change, ids: Iterable[bytes]) -> bool:
        """Let sums follow decisions that others have made on all samples of a label.

        Args:
            change: The change that is being made.
            ids: Folded samples, on which there are new decisions.

        Returns:
            Whether a sum has followed.
        """
        moved: dict[str, tuple[int, str]] = {}
        for entries in self._known.entries(ids).values():
            wanted = self._view.wanted(entries)
            if wanted[0]:
                moved.update((each.label or "", wanted) for each in entries if each.label)
        has_moved = False
        left = {label for _, (_, label) in self._samples()} if moved else set()
        for id, label, _ in self._state.query(SUMS, self._state.origin):
            if label in moved and label not in left and moved[label][1] != label:
                decided, new = moved[label]
                change.decide(new or None, "id = ?", id, decided=decided)
                has_moved = True
        return has_moved

    def kept(self) -> int:
        """Return how many folded samples a pin cannot take back."""
        return sum(not decided for _, (decided, _) in self._samples())

    def _samples(self) -> Iterable[tuple[bytes, tuple[int, str]]]:
        """Yield the folded samples that are in the log, with what the fleet wants of them."""
        folded = [id for (id,) in self._state.query(FOLDED)]
        for id, entries in self._known.entries(folded).items():
            yield id, self._view.wanted(entries)
