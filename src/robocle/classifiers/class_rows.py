"""Classifiers that keep one row per label in each of their arrays."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from robocle.classifiers.state import Arrays, ClassifierState, Matrix, OneRowPerLabel, Ownership
from robocle.classifiers.streaming import StreamingClassifier


class ClassRowClassifier(StreamingClassifier):
    """Keeps arrays of shape (labels, width)."""

    ROWS: ClassVar[tuple[str, ...]]
    """The names of the arrays. The first one determines the width when a state is restored."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Matrix] = {name: np.empty((0, 0)) for name in self.ROWS}

    def _add_row(self) -> None:
        width = self.width or 0
        for name, rows in self._rows.items():
            self._rows[name] = np.vstack([rows.reshape(len(rows), width), np.zeros(width)])

    def _forget(self, row: int) -> None:
        for name, rows in self._rows.items():
            self._rows[name] = np.delete(rows, row, axis=0)

    def _state(self) -> Arrays:
        return {name: rows.copy() for name, rows in self._rows.items()}

    def _restore(self, state: ClassifierState) -> int | None:
        width = state.checked(self.ROWS[0], len(state.labels), None).shape[1]
        self._rows = {name: state.copied(name, len(state.labels), width) for name in self.ROWS}
        return width or None

    def _array_owners(self) -> Mapping[str, Ownership]:
        return dict.fromkeys(self.ROWS, OneRowPerLabel())
