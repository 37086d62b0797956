"""The exchange: from a state to messages, and from messages to the state, without a network.

What is to be published and what is followed is found by comparing the state with the log; see
`robocle.fleet.followed`. So the same function serves a message that arrives, a change that was made
here, a start after any interruption, and a pin.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from robocle._internal.wording import plural
from robocle.classifiers.labels import UNKNOWN
from robocle.classifiers.samples import require_width
from robocle.errors import RobocleError, StateError
from robocle.fleet.folded import FoldedLabels
from robocle.fleet.followed import SELECT_HELD, Followed, Held, Sharing
from robocle.fleet.membership import Entry, Membership, found_by_id
from robocle.fleet.messages import (
    EVERYONE,
    MOST_IDS,
    Decision,
    Kind,
    Received,
    badge_id,
    decision_message,
    fingerprint,
    label_of_badge,
    read_decision,
    read_pin,
    read_sample,
    sample_message,
)
from robocle.learner.pipeline import Parts, Pipeline
from robocle.store.change import CONTENT, Change, changing
from robocle.store.folding import built, fold
from robocle.store.records import LATEST, Row
from robocle.store.state import FilePath, State, clock_of, located


class Draft(NamedTuple):
    """A message that is to be published: a decision, or a sample with one."""

    decision: Decision
    kind: Kind


class Exchange:
    """What a robot of a fleet has to publish, and what it takes in.

    Args:
        path: The state.
        sharing: What it shares.

    Raises:
        StateError: The state cannot be used.
        FleetError: Another program is in the fleet with this state.
    """

    def __init__(self, path: FilePath, sharing: Sharing) -> None:
        self.state = State.open(path)
        try:
            self.parts = Parts.of(self.state.name, self.state.parts)
            self.parts_id = fingerprint(self.parts)
            self._empty = built(self.state.name, self.parts.classifier)
            self.sharing = sharing
            self.known = Membership(located(path))
        except BaseException:
            self.state.close()
            raise
        if self.known["sharing"] != repr(sharing):  # what was private may have to be published
            with self.known.writing():
                self.known["sharing"], self.known["cursor"] = repr(sharing), "0"
                self.known["unsettled"] = "1"
                if self.known["group"] != sharing.group:  # the pin may be that of another one
                    self.known["group"], self.known["pin"] = sharing.group, "0"
                    self.known["pinned_at"] = "0"
        self.followed = Followed(self.known, sharing)
        self._folded = FoldedLabels(self.state, self.known, self.followed)
        self._labels: set[str] = set()
        self.published = self.taken_in = 0
        self.refused: list[str] = []

    def close(self) -> None:
        """Close the files."""
        self.state.close()
        self.known.close()

    # What is published

    def changed(self) -> bool:
        """Return whether the state has changed beside what is in the log."""
        return self.state.position()[1] != self.known.number("cursor")

    def drafts(self) -> tuple[int, list[Draft]]:
        """Return the clock of the state, and what is to be published of the changes up to it."""
        clock, changed = self._changed_rows()
        if self._reverted(changed):
            clock, changed = self._changed_rows()
        publish, _ = self.followed.compared(changed + self._badges())
        drafts = self._drafted(publish)
        if any(row.fold for row in changed) and not self.sharing.read_only:
            drafts += [Draft(each, "decision") for each in self._folded.decisions()]
        return clock, drafts

    def _changed_rows(self) -> tuple[int, list[Held]]:
        """Return the clock of the state, and the rows that changed since what was published."""
        self._labels.clear()
        with self.state.reading() as connection:
            clock, cursor = clock_of(connection), self.known.number("cursor")
            query = f"{SELECT_HELD} WHERE changed > ?"
            since = 0 if cursor > clock else cursor  # an older copy has replaced the file
            return clock, [Held(*values) for values in connection.execute(query, (since,))]

    def _badges(self) -> list[Held]:
        """Return the badges of labels."""
        found = self.state.badges().items()
        return [
            Held(badge_id(label), badge or None, decided, content=1, fold=None)
            for label, (decided, badge) in found
        ]

    def _reverted(self, rows: Sequence[Held]) -> bool:
        """Decide anew on rows whose label went back, and return whether there were any.

        To undo a merge is no decision. But what others know already needs one.
        """
        is_older = self.known.number("cursor") > self.state.position()[1]
        if self.sharing.read_only or self.known["unsettled"] or is_older:
            return False
        entries = self.known.entries(row.id for row in rows)
        unfolded = [row for row in rows if row.fold is None]
        again = {row for row in unfolded if self._went_back(row, entries.get(row.id, []))}
        if again:
            with changing(self.state) as change:
                for row in self._held([row.id for row in again]):
                    if row in again:  # otherwise it was decided on meanwhile
                        change.decide(row.label, "id = ?", row.id)
        return bool(again)

    def _went_back(self, row: Held, entries: Sequence[Entry]) -> bool:
        known = {each.decision for each in entries}
        was_undone = bool(row.content) if row.decided == 0 else row.decision in known
        return was_undone and row.decision < self.followed.wanted(entries, row)

    def _drafted(self, rows: Iterable[Held]) -> list[Draft]:
        """Return the messages about rows; one decision on many rows is one message."""
        drafts: list[Draft] = []
        decisions: dict[tuple[int, str | None], list[bytes]] = defaultdict(list)
        unique = {row.id: row for row in rows}
        entries = self.known.entries(unique)
        for row in unique.values():
            if label_of_badge(row.id):
                drafts.append(Draft(Decision((row.id,), row.label, row.decided), "decision"))
            elif row.label is None or any(each.content for each in entries.get(row.id, ())):
                decisions[row.decided, row.label].append(row.id)
            else:
                drafts.append(Draft(Decision((row.id,), row.label, row.decided), "sample"))
        for (decided, label), ids in decisions.items():
            for start in range(0, len(ids), MOST_IDS):
                some = tuple(ids[start : start + MOST_IDS])
                drafts.append(Draft(Decision(some, label, decided), "decision"))
        return drafts

    def payloads(self, drafts: Iterable[Draft]) -> list[bytes | None]:
        """Return messages; None for one about a sample whose embedding is gone by now."""
        return [
            self._sample(each.decision)
            if each.kind == "sample"
            else decision_message(each.decision)
            for each in drafts
        ]

    def _sample(self, decision: Decision) -> bytes | None:
        rows = self.state.rows("id = ? AND bits > 0 AND fold IS NULL", decision.ids[0])
        if not rows:
            return None
        return sample_message(rows[0]._replace(label=decision.label, decided=decision.decided))

    def note(self, sent: Iterable[tuple[int, Draft]]) -> None:
        """Note messages that were published, with their sequences."""
        with self.known.writing():
            for sequence, (decision, kind) in sent:
                values = decision.label, decision.decided, int(kind == "sample"), 1
                self.known.add(Entry(id, sequence, *values) for id in decision.ids)
                self.published += 1

    def note_published(self, clock: int) -> None:
        """Note that everything up to a clock of the state was published, and fold what may be."""
        with changing(self.state) as change:
            if clock_of(self.state.connection) == clock:
                fold(change, self._empty, whose="all")
                clock = clock_of(self.state.connection)
        with self.known.writing():
            self.known["cursor"] = str(clock)

    # What is taken in

    def take(self, messages: Sequence[Received], robot: str) -> list[int]:
        """Take in messages, and return the sequences of those that are needed again.

        Args:
            messages: Messages of the log, in any order.
            robot: The name under which this robot publishes.
        """
        if self.changed():
            self._reverted(self._changed_rows()[1])  # before there are later decisions
        return self.take_again(messages, robot)

    def take_again(self, messages: Sequence[Received], robot: str) -> list[int]:
        """Take in messages that are needed again; see `take`.

        Until then, a sample that is back in the fleet looks as if its label had gone back here.
        """
        rows: dict[bytes, Row] = {}
        entries: list[Entry] = []
        before = pin = self.known.number("pinned_at"), self.known.number("pin")
        groups, since = (EVERYONE, self.sharing.group), self.known.number("pinned_since")
        for message in messages:
            try:
                if message.kind == "sample":
                    row = self._checked(message.payload)
                    rows[row.id] = row
                    decision = Decision((row.id,), row.label, row.decided)
                elif message.kind == "decision":
                    decision = read_decision(message.payload)
                    if not label_of_badge(decision.ids[0]):
                        self._require_room(decision.label)
                else:
                    if message.kind == "pin" and message.robot in groups:
                        found = message.sequence, read_pin(message.payload)
                        if found > pin:  # what was taught here since the first of several stays
                            since, pin = since if pin[1] and found[1] else found[0], found
                    continue
            except RobocleError as error:
                who = f"message {message.sequence} of {message.robot}"
                self.refused.append(f"refused {who}: {error}")
                continue
            values = decision.label, decision.decided, int(message.kind == "sample")
            own = int(message.robot == robot)
            entries += [Entry(id, message.sequence, *values, own) for id in decision.ids]
        with self.known.writing(flush=pin != before):
            self.known.add(entries)
            self.known["pinned_at"], self.known["pin"] = map(str, pin)
            self.known["pinned_since"] = str(since)
            was_unsettled, self.known["unsettled"] = self.known["unsettled"], "1"
        missing = self._settle({each.id for each in entries}, rows)
        if pin != before:
            missing = self.settle_all()
            if kept := self._folded.kept():
                self.refused.append(f"{plural(kept, 'sample')} after the pin stay: they are folded")
            return missing
        with self.known.writing():
            self.known["unsettled"] = was_unsettled
        return missing

    def note_applied(self, message: Received) -> None:
        """Note that a message and all before it are taken in."""
        with self.known.writing():
            self.known["applied"] = str(message.sequence)
            self.known["applied_time"] = str(message.time)
        self.known.shrink()
        self.state.query("PRAGMA shrink_memory")

    def settle_all(self) -> list[int]:
        """Bring every row of the state in line with the log; see `take`."""
        missing = [each for ids in self.known.ids() for each in self._settle(ids, {})]
        with self.known.writing():
            self.known["unsettled"] = ""
        return missing

    def _checked(self, payload: bytes) -> Row:
        """Return the row of a message that this state could have."""
        row, numbers = read_sample(payload)
        self._empty.width = self._empty.width or self._width() or len(numbers)
        require_width(numbers, self._empty.width)
        self._require_room(row.label)
        return row

    def _require_room(self, label: str | None) -> None:
        """Raise LabelError if the classifier cannot have one more label."""
        if label and label != UNKNOWN and label not in self._labels:
            query = "SELECT DISTINCT label FROM samples WHERE label IS NOT NULL"
            labels = self._labels or {each for (each,) in self.state.query(query)}
            found = labels - {UNKNOWN, label}
            self._empty.require_room([*found, label])
            self._labels = found | {label}

    def _width(self) -> int | None:
        """Return the width of embeddings; None if nothing was taught, and no backbone is here.

        The first message must not decide it: all samples of another width would be refused.
        """
        if found := self.state.width():
            return found
        with suppress(StateError):
            pipeline = Pipeline.of_state(self.state.name, self.parts)
            side = pipeline.backbone.input_size
            return int(pipeline.embed([np.zeros((side, side, 3), np.uint8)]).shape[1])
        return None

    def _held(self, ids: Collection[bytes]) -> list[Held]:
        """Return the rows of samples, and the badges, that are here."""
        with self.state.reading() as connection:
            held = [Held(*values) for values in found_by_id(connection, SELECT_HELD, ids)]
            return held + [each for each in self._badges() if each.id in ids]

    def _settle(self, ids: Collection[bytes], rows: dict[bytes, Row]) -> list[int]:
        """Bring the rows of samples in line with the log, and return which messages are needed."""
        held = self._held(ids)
        missing, ready = self._compared(held, ids, rows)
        if ready or any(row.fold for row in held):
            with changing(self.state) as change:
                held = self._held(ids)  # with what was decided here meanwhile
                missing, ready = self._compared(held, ids, rows)
                has_all = clock_of(self.state.connection) == self.known.number("cursor")
                self._follow(change, ready, rows, {row.id: row for row in held})
                clock = clock_of(self.state.connection)
            if has_all:  # what has changed is in the log
                self.note_published(clock)
        return missing

    def _compared(
        self, held: Sequence[Held], ids: Collection[bytes], rows: dict[bytes, Row]
    ) -> tuple[list[int], list[tuple[bytes, tuple[int, str]]]]:
        """Return which messages are needed, and the decisions that can be followed without them."""
        publish, follow = self.followed.compared(held, ids)
        if publish:  # the change was published before the log was known
            with self.known.writing():
                self.known["cursor"] = "0"
        missing, ready = list[int](), list[tuple[bytes, tuple[int, str]]]()
        for id, wanted, content in follow:
            if wanted[1] and content and id not in rows:
                missing.append(content)
            elif not wanted[1] or content == 0 or id in rows:
                ready.append((id, wanted))
        return missing, ready

    def _follow(
        self,
        change: Change,
        decisions: Sequence[tuple[bytes, tuple[int, str]]],
        rows: dict[bytes, Row],
        held: dict[bytes, Held],
    ) -> None:
        """Write what the fleet has decided to the state."""
        times = [rows[id].time for id, _ in decisions if id in rows]
        latest = max([0, *times, *(decided for _, (decided, _) in decisions)])
        change.now = max(change.now, min(latest, LATEST) + 1)
        for id, (decided, label) in decisions:
            if about := label_of_badge(id):
                change.set_badge(about, label, decided)
                continue
            if id not in held:
                change.insert(rows[id]._replace(label=label, decided=decided))
                continue
            if label and not held[id].content:
                query = f"UPDATE samples SET {CONTENT} WHERE id = ?"
                change.execute(query, (*rows[id][7:], id))
            if not label:
                change.erases = f"changed = {change.now} AND fold IS NULL"
            change.decide(label or None, "id = ?", id, decided=decided)
        folded = [row.id for row in held.values() if row.fold]
        self.taken_in += len(decisions) + (bool(folded) and self._folded.follow(change, folded))
