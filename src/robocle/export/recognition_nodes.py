"""Known or unknown in an ONNX graph: the outputs are the fields of `robocle.Prediction`.

The nodes compute what `robocle.recognition.meaning` computes, with the decision as constants.
"""

import math
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder
from robocle.classifiers.labels import UNKNOWN
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import known_without_decision
from robocle.types import SURE


@dataclass(frozen=True)
class RecognitionNodes:
    """Adds the outputs that interpret scores to a graph."""

    builder: GraphBuilder
    labels: tuple[str, ...]
    decision: Decision | None
    false_accept: float
    """The rate, as in `Learner.predict`."""

    def add_outputs(self, scores: str, familiar: str) -> None:
        """Add all outputs.

        Args:
            scores: The tensor with the scores, (n, labels), in float64.
            familiar: A tensor whose best entries are the familiarity, (n, labels), in float64.
        """
        node = self.builder.node
        familiarity = self._entries(familiar, self._best(familiar), output="familiarity")
        column = self._best(scores)
        threshold = self._number(self._threshold())
        unknown = node("Less", familiarity, threshold, output="unknown")
        self._add_texts(self._flat(column), unknown)
        known = self._known(familiarity)
        share = self._entries(self._softmax(scores), column)
        confidence = node("Mul", known, share, output="confidence")
        # Without a decision, nothing is sure.
        least = self._number(SURE if self.decision else math.inf)
        reliable = node("GreaterOrEqual", confidence, least)
        node("And", reliable, node("Not", unknown), output="sure")
        self._declare()

    def _declare(self) -> None:
        """Declare the outputs in the order of the fields of `Prediction`."""
        self.builder.add_output("label", TensorProto.STRING)
        self.builder.add_output("confidence", TensorProto.DOUBLE)
        self.builder.add_output("scores", TensorProto.DOUBLE, len(self.labels))
        self.builder.add_output("nearest", TensorProto.STRING)
        self.builder.add_output("known", TensorProto.DOUBLE)
        self.builder.add_output("unknown", TensorProto.BOOL)
        self.builder.add_output("familiarity", TensorProto.DOUBLE)
        self.builder.add_output("sure", TensorProto.BOOL)

    def _add_texts(self, best: str, unknown: str) -> None:
        node = self.builder.node
        texts = self.builder.constant(np.array([*self.labels, UNKNOWN], dtype=object))
        last = self.builder.constant(np.array(len(self.labels), np.int64))
        node("Gather", texts, best, output="nearest", axis=0)
        row = node("Where", unknown, last, best)
        node("Gather", texts, row, output="label", axis=0)

    def _threshold(self) -> float:
        return self.decision.threshold(self.false_accept) if self.decision else -math.inf

    def _softmax(self, scores: str) -> str:
        temperature = self.decision.temperature if self.decision else 1.0
        scaled = self.builder.node("Div", scores, self._number(temperature))
        return self.builder.node("Softmax", scaled, axis=1)

    def _known(self, familiarity: str) -> str:
        """Add the probability of a known object."""
        node = self.builder.node
        if self.decision is None:
            known = self._number(known_without_decision(len(self.labels)))
            return node("Expand", known, node("Shape", familiarity), output="known")
        above = node("Sub", familiarity, self._number(self.decision.even))
        return node(
            "Sigmoid", node("Div", above, self._number(self.decision.spread)), output="known"
        )

    def _best(self, values: str) -> str:
        """Return the column of the largest entry of each row: (n, 1)."""
        return self.builder.node("ArgMax", values, axis=1, keepdims=1)

    def _entries(self, values: str, column: str, output: str = "") -> str:
        """Return one entry of each row of values (n, labels): (n)."""
        return self._flat(self.builder.node("GatherElements", values, column, axis=1), output)

    def _flat(self, column: str, output: str = "") -> str:
        shape = self.builder.constant(np.array([-1], np.int64))
        return self.builder.node("Reshape", column, shape, output=output)

    def _number(self, value: float) -> str:
        return self.builder.constant(np.array(value, np.float64))
