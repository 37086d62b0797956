"""The store: everything that a learner was taught, as a table of samples in an SQLite file.

- `schema.sql`: the tables, and the rules for their values. `tables`: how a file is opened and
  checked. `records`: rows of samples, and steps.
- `state`: a state that is open, and what is in it.
- `change`: changes, each one transaction: teaching, decisions on labels, undo, redo, merging.
- `folding`: from the rows to a classifier, and sums of the samples that are not kept.
- `copying`: writing a state to another file. `recovery`: what is intact in a damaged file.

`docs/state-file.md` describes the format.
"""
