"""Folded samples: a decision on a label as a whole reaches the sums of every robot.

The log has each sample, but a robot that has folded some holds their sum, with one label. A sum
knows its samples. When it is renamed or forgotten here, the decision is published for each of them.
When others have decided so on all of them, the sum follows. A single folded sample stays where it
is, and so do those of two sums that were joined and then folded into one.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from robocle.fleet.followed import SELECT_HELD, Followed, Held
from robocle.fleet.membership import Membership, found_by_id
from robocle.fleet.messages import MOST_IDS, Decision
from robocle.store.change import Change
from robocle.store.state import State

OF_SUM = "SELECT id, quality, decided FROM samples"
"""A folded sample, in which sum it is, and when its label was decided before it was folded."""
FOLDED = f"{OF_SUM} WHERE fold > 0 AND pictures = 0 AND quality IS NOT NULL"
SUMS = f"{SELECT_HELD} WHERE fold > 0 AND pictures > 0 AND origin = ?"


class Folded(NamedTuple):
    """A folded sample that is in the log."""

    id: bytes
    decided: int
    """When its label was decided, before it was folded."""
    wanted: tuple[int, str]
    """What the fleet has decided; its time is 0 if that is nothing."""


class FoldedLabels:
    """The labels of what is folded in a state.

    Args:
        state: The state.
        known: What is known of the log.
        followed: What the robot follows of it.
    """

    def __init__(self, state: State, known: Membership, followed: Followed) -> None:
        self._state, self._known, self._followed = state, known, followed

    def decisions(self) -> list[Decision]:
        """Return what was decided here on sums, for each of their samples."""
        found: list[Decision] = []
        samples, sharing = self._samples(), self._followed.sharing
        for each in self._sums():
            folded, usual = samples[each.id.hex()], _usual(samples[each.id.hex()])
            label = each.label if sharing.publishes(each.label) else None
            if label is None and not sharing.publishes(usual[1] or None):
                continue
            was_decided_here = each.decided > max([0, *(sample.decided for sample in folded)])
            if was_decided_here and usual < each.decision and usual[1] != (label or ""):
                # What was removed by itself, before all of the label was, stays removed.
                like = [sample for sample in folded if sample.wanted[1] == usual[1]]
                ids = [sample.id for sample in like if usual[1] or sample.wanted == usual]
                found += [
                    Decision(tuple(ids[start : start + MOST_IDS]), label, each.decided)
                    for start in range(0, len(ids), MOST_IDS)
                ]
        return found

    def follow(self, change: Change, ids: Sequence[bytes]) -> bool:
        """Let sums follow decisions that others have made on all of their samples.

        Args:
            change: The change that is being made.
            ids: Folded samples, on which there are new decisions.

        Returns:
            Whether a sum has followed.
        """
        labels = {each.id.hex(): each.label or "" for each in self._sums()}
        entries = self._known.entries(ids)
        moved = {
            sum_id
            for id, sum_id, _ in found_by_id(self._state.connection, OF_SUM, ids)
            if self._followed.wanted(entries.get(id, []))[1] != labels.get(sum_id)
        }
        samples = self._samples() if moved & labels.keys() else {}
        has_moved = False
        for each in self._sums():
            folded = samples[each.id.hex()] if each.id.hex() in moved else []
            usual, label = _usual(folded), each.label or ""
            keeps = label and any(sample.wanted[1] == label for sample in folded)
            if usual > each.decision and usual[1] != label and not keeps:
                change.decide(usual[1] or None, "id = ?", each.id, decided=usual[0])
                has_moved = True
        return has_moved

    def kept(self) -> int:
        """Return how many folded samples a pin cannot take back."""
        return sum(not each.wanted[0] for folded in self._samples().values() for each in folded)

    def _sums(self) -> list[Held]:
        """Return the rows of the sums."""
        return [Held(*values) for values in self._state.query(SUMS, self._state.origin)]

    def _samples(self) -> dict[str, list[Folded]]:
        """Return the folded samples that are in the log, by the id of their sum."""
        found: dict[str, list[Folded]] = defaultdict(list)
        rows = {id: about for id, *about in self._state.query(FOLDED)}
        for id, entries in self._known.entries(rows).items():
            of_sum, decided = rows[id]
            found[of_sum].append(Folded(id, decided, self._followed.wanted(entries)))
        return found


def _usual(samples: Sequence[Folded]) -> tuple[int, str]:
    """Return what the fleet wants of most samples, as it was decided last."""
    wanted = [each.wanted for each in samples if each.wanted[0]]
    labels = Counter(label for _, label in wanted).most_common(1)
    return max((each for each in wanted if each[1] == labels[0][0]), default=(0, ""))
