"""What a robot shares, and which decisions of the log it follows.

For each sample, the log has decisions on its label. The latest of those that a pin lets through is
what the fleet wants. A row of the state whose decision is not in the log was decided on here. If it
is later than what the fleet wants, it is published; otherwise the row follows the fleet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from robocle.fleet.membership import Entry, Membership
from robocle.fleet.messages import EVERYONE, label_of_badge


@dataclass(frozen=True)
class Sharing:
    """What a robot shares."""

    labels: tuple[str, ...] = ()
    """Only samples of these labels are published and taken in; empty for all."""
    private: tuple[str, ...] = ()
    """Samples of these labels are not published."""
    read_only: bool = False
    """Whether nothing is published."""
    group: str = EVERYONE
    """The group of robots, for pins."""

    def takes(self, label: str | None) -> bool:
        """Return whether what has this label is taken in."""
        return label is None or not self.labels or label in self.labels

    def publishes(self, label: str | None) -> bool:
        """Return whether what has this label is published."""
        return not self.read_only and self.takes(label) and label not in self.private


SELECT_HELD = """SELECT id, label, decided, bits > 0, fold,
    lower(hex(origin)) = (SELECT value FROM parts WHERE name = 'origin') FROM samples"""


class Held(NamedTuple):
    """A row of the state, without its embedding; or the badge of a label, in the same form."""

    id: bytes
    label: str | None
    decided: int
    content: int | None
    fold: int | None
    own: int = 0
    """Whether it was taught to this state."""

    @property
    def decision(self) -> tuple[int, str]:
        """What decides between two versions: the larger one wins."""
        return self.decided, self.label or ""

    @property
    def about(self) -> str | None:
        """The label by which it is shared or not."""
        return label_of_badge(self.id) or self.label


Follow = tuple[bytes, tuple[int, str], int | None]
"""A sample, what the fleet has decided, and the sequence of its embedding; 0 if it is here."""


class Followed:
    """What a robot follows of the log.

    Args:
        known: What is known of the log, with the pin that holds.
        sharing: What the robot shares.
    """

    def __init__(self, known: Membership, sharing: Sharing) -> None:
        self._known, self.sharing = known, sharing

    def wanted(self, entries: Sequence[Entry], row: Held | None = None) -> tuple[int, str]:
        """Return the decision that the fleet wants; its time is 0 if there is none.

        Args:
            entries: The decisions on a sample that are in the log.
            row: The sample; None if the state has none.
        """
        pin, since = self._known.number("pin"), self._known.number("pinned_since")
        found = max(
            (
                each.decision
                for each in entries
                if not pin or each.sequence <= pin or (each.own and each.sequence > since)
            ),
            default=(0, ""),
        )
        about = next((label_of_badge(each.id) for each in entries), "") or found[1] or None
        is_own = bool(row and row.own) or any(each.own for each in entries)
        return found if is_own or self.sharing.takes(about) else (0, "")

    def compared(
        self, rows: Sequence[Held], ids: Iterable[bytes] = ()
    ) -> tuple[list[Held], list[Follow]]:
        """Compare rows of the state, and samples that it may not have, with the log.

        Returns:
            What is to be published, and what the state has to follow.
        """
        held = {row.id: row for row in rows}
        entries = self._known.entries({*held, *ids})
        publish, follow = list[Held](), list[Follow]()
        for id in {*held, *entries}:
            row, known = held.get(id), entries.get(id, [])
            wanted = self.wanted(known, row)
            content = next((each.sequence for each in known if each.content), None)
            content = 0 if label_of_badge(id) else content
            if row is None:
                if wanted[1]:
                    follow.append((id, wanted, content))
            elif row.fold is not None or row.decision == wanted:
                continue
            elif row.decided and row.decision > wanted and (
                row.decision not in {each.decision for each in known}
            ):  # fmt: skip
                # Others learn of a removal only if they know of the sample.
                if self.sharing.publishes(row.about) and (row.label or known):
                    publish.append(row)
                elif wanted[1] and content != 0 and self.sharing.publishes(wanted[1]):
                    publish.append(row._replace(label=None))  # it is private from now on
            else:
                follow.append((id, wanted, 0 if row.content else content))
        return publish, follow
