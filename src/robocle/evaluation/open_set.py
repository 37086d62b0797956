"""Examination: how sure a classifier is, and whether it tells unknown things from known ones.

Its confidence and its call "unknown" are those a learner gives, by robocle.recognition.
A test picture is of a known thing if its label was taught.
"""

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier
from robocle.evaluation.evaluation_set import Questions
from robocle.evaluation.metrics import area_under_curve, calibration_error
from robocle.recognition.calibration import DEFAULT_UNKNOWN, Calibration, recognised

Measured = dict[str, float | None]


def examine(clf: StreamingClassifier, questions: Questions) -> Measured:
    """What a classifier says of known and unknown things in a test."""
    leave_one_out = clf.leave_one_out()
    calibration = Calibration.of(leave_one_out) if leave_one_out else None
    best, confidence, called_known, right, is_known = [], [], [], [], []
    for label, vectors in questions.by_label():
        for scores in clf.scores(vectors):
            seen = recognised(scores, calibration, DEFAULT_UNKNOWN)
            best.append(float(scores[seen.row]))
            confidence.append(seen.confidence)
            called_known.append(seen.is_known)
            right.append(clf.labels[seen.row] == label)
            is_known.append(label in clf.labels)
    known = np.array(is_known)
    unknown = np.array(best)[~known]
    return {
        "auroc": area_under_curve(np.array(best)[known], unknown) if len(unknown) else None,
        "known_called_unknown": _percent(~np.array(called_known)[known]),
        "unknown_caught": _percent(~np.array(called_known)[~known]),
        "calibration_error": calibration_error(np.array(confidence)[known], np.array(right)[known]),
    }


def _percent(flags: NDArray[np.bool_]) -> float | None:
    return 100 * float(flags.mean()) if len(flags) else None
