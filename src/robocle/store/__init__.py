"""The store: everything that a learner was taught, as a table of samples in an SQLite file.

- `schema.sql`: the tables. `tables`: how a file is opened and checked. `rows`: rows, checked.
- `state`: a state that is open, and what is in it.
- `change`: changes, each one transaction: teaching, decisions on labels, undo, redo, merging.
- `folding`: from the rows to a classifier, and sums of the samples that are not kept.
- `copying`: writing a state to another file. `recovery`: what is intact in a damaged file.

`docs/state-file.md` describes the format.
"""

from robocle.store.change import Change, NewSample, changing
from robocle.store.copying import write_state
from robocle.store.folding import classifier_of, fold
from robocle.store.recovery import recovered
from robocle.store.rows import Row
from robocle.store.state import FilePath, Position, State, located
from robocle.store.steps import Step, StepName

__all__ = [
    "Change",
    "FilePath",
    "NewSample",
    "Position",
    "Row",
    "State",
    "Step",
    "StepName",
    "changing",
    "classifier_of",
    "fold",
    "located",
    "recovered",
    "write_state",
]
