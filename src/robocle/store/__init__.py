"""The store: everything a learner has learned, on disk, safe from power cuts and full disks.

A closed state is one file, a snapshot. While it is open for teaching, a journal next to it holds
every operation since the snapshot; an operation is on disk before its call returns. The format is
specified in `docs/state-file.md`.
"""

from robocle.store.description import METADATA_KEY
from robocle.store.learner_state import LearnerState
from robocle.store.operations import (
    Forget,
    Operation,
    Remove,
    Rename,
    Teach,
    Undo,
    stored_embedding,
)
from robocle.store.parts import Parts
from robocle.store.reading import ReadState, read_state, read_with_snapshot
from robocle.store.recovery import recovered
from robocle.store.snapshot import write_state
from robocle.store.state_store import StateStore
from robocle.store.steps import Step
from robocle.store.stored_state import StoredState

__all__ = [
    "METADATA_KEY",
    "Forget",
    "LearnerState",
    "Operation",
    "Parts",
    "ReadState",
    "Remove",
    "Rename",
    "StateStore",
    "Step",
    "StoredState",
    "Teach",
    "Undo",
    "read_state",
    "read_with_snapshot",
    "recovered",
    "stored_embedding",
    "write_state",
]
