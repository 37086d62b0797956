"""Known or unknown in an ONNX graph: the outputs are the fields of `robocle.Prediction`.

The nodes compute what `robocle.recognition.calibration` computes, with the calibration and the
threshold as constants.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder
from robocle.classifiers.labels import UNKNOWN
from robocle.recognition.calibration import AnyCalibration, known_without_calibration
from robocle.recognition.levels import DEFAULT_UNKNOWN
from robocle.recognition.world_calibration import WorldCalibration


@dataclass(frozen=True)
class RecognitionNodes:
    """Adds the outputs that interpret scores to a graph."""

    builder: GraphBuilder
    labels: tuple[str, ...]
    calibration: AnyCalibration | None
    unknown: float
    """The level, as in `Learner.predict`."""

    def add_outputs(self, scores: str, familiar: str) -> None:
        """Add all outputs.

        Args:
            scores: The tensor with the scores, (n, labels), in float64.
            familiar: A tensor whose best entries are the familiarity, (n, labels), in float64.
        """
        familiarity = self._entries(familiar, self._best(familiar), output="familiarity")
        column = self._best(scores)
        threshold = self._number(self._threshold())
        unknown = self.builder.node("Less", familiarity, threshold, output="unknown")
        self._add_texts(self._flat(column), unknown)
        likelihoods = self._log_likelihood_ratio(familiarity)
        self._posterior(likelihoods, familiarity, 0.5, output="known")
        prior = self.calibration.known_prior if self.calibration else 0.5
        posterior = self._posterior(likelihoods, familiarity, prior)
        share = self._entries(self._softmax(scores), column)
        self.builder.node("Mul", posterior, share, output="confidence")
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

    def _add_texts(self, best: str, unknown: str) -> None:
        node = self.builder.node
        texts = self.builder.constant(np.array([*self.labels, UNKNOWN], dtype=object))
        last = self.builder.constant(np.array(len(self.labels), np.int64))
        node("Gather", texts, best, output="nearest", axis=0)
        row = node("Where", unknown, last, best)
        node("Gather", texts, row, output="label", axis=0)

    def _threshold(self) -> float:
        return self.calibration.threshold(self.unknown) if self.calibration else -math.inf

    def _softmax(self, scores: str) -> str:
        temperature = self.calibration.temperature if self.calibration else 1.0
        scaled = self.builder.node("Div", scores, self._number(temperature))
        return self.builder.node("Softmax", scaled, axis=1)

    def _log_likelihood_ratio(self, familiarity: str) -> str:
        if self.calibration is None:
            return ""
        if isinstance(self.calibration, WorldCalibration):
            threshold = self._number(self.calibration.threshold(DEFAULT_UNKNOWN))
            above = self.builder.node("Sub", familiarity, threshold)
            return self.builder.node("Div", above, self._number(self.calibration.spread))
        known, unknown = self.calibration.known_scores, self.calibration.unknown_scores
        for_known = self._log_density(known, "Min", familiarity)
        for_unknown = self._log_density(unknown, "Max", familiarity)
        return self.builder.node("Sub", for_known, for_unknown)

    def _log_density(self, scores: NormalDist, limit: str, familiarity: str) -> str:
        node, number = self.builder.node, self._number
        limited = node(limit, familiarity, number(scores.mean))
        deviation = node("Div", node("Sub", limited, number(scores.mean)), number(scores.stdev))
        exponent = node("Div", node("Mul", deviation, deviation), number(-2))
        return node("Sub", exponent, number(math.log(scores.stdev)))

    def _posterior(self, ratio: str, familiarity: str, prior: float, output: str = "") -> str:
        node = self.builder.node
        if not ratio:
            known = self._number(known_without_calibration(len(self.labels)))
            return node("Expand", known, node("Shape", familiarity), output=output)
        log_odds = node("Add", ratio, self._number(math.log(prior / (1 - prior))))
        return node("Sigmoid", log_odds, output=output)

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
