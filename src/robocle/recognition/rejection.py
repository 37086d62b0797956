"""What the rate that the user chose means for the evidence of a frame.

The confidences of a prediction are the same whatever rate the user chose, and the temporal filter
reads confidences only. So that the rate counts there as well, a frame that is called unknown must
not be evidence for a label, and one that is given a label must not be evidence for unknown.
"""

from robocle.label_numbers import LabelNumbers, numbers_of
from robocle.types import Prediction

AT_LEAST = 2.0
"""How many times as probable as the other one what was decided is."""


def decided(prediction: Prediction) -> Prediction:
    """Return a prediction whose confidences agree with what was decided about its label.

    If the object was called unknown, an unknown object is at least twice as probable as the nearest
    label. If it was given a label, this is at least twice as probable as an unknown object: a video
    whose frames all have the same answer ends with it. Nothing else changes.

    Args:
        prediction: The prediction for a frame, at the rate of the user.

    Example:
        >>> scores, confidences = {"mug": 1.0, "pan": 0.2}, {"mug": 0.6, "pan": 0.2}
        >>> rejected = Prediction(None, 0.6, scores, "mug", 0.8, confidences)
        >>> round(decided(rejected).unknown, 3)
        0.6
        >>> accepted = Prediction("mug", 0.6, scores, "mug", 0.8, confidences)
        >>> decided(accepted) == accepted
        True
    """
    confidences = numbers_of(prediction, "confidences")
    known = confidences.total()
    if prediction.nothing or known <= 0:
        return prediction
    share = prediction.confidence / known  # of the nearest label among all labels
    if prediction.label is None:
        wanted = min(known, 1 / (1 + AT_LEAST * share))
    else:
        wanted = max(known, AT_LEAST / (AT_LEAST + share))
    if wanted == known:
        return prediction
    return Prediction.of_numbers(
        prediction.label,
        prediction.confidence * wanted / known,
        numbers_of(prediction, "scores"),
        prediction.nearest,
        prediction.known,
        LabelNumbers(confidences.labels, confidences.numbers * wanted / known),
        familiarity=prediction.familiarity,
        sure=prediction.sure,
    )
