"""What the chosen false-rejection rate means for the evidence of a frame.

The confidences of a prediction assume that 98 % of all objects are known, whatever rate the user
chose. The temporal filter reads confidences only. So that the rate counts there, too, a frame that
is called unknown must not speak for a label, and one that is given a label not for unknown.
"""

from robocle.label_numbers import LabelNumbers, numbers_of
from robocle.types import Prediction


def decided(prediction: Prediction) -> Prediction:
    """Return a prediction whose confidences agree with what was decided about its label.

    If the object was called unknown, the confidences sum to the posterior of a known object at even
    prior odds, and an unknown object is at least as probable as the nearest label. If it was given
    a label, this is at least as probable as an unknown object. Nothing else changes.

    Args:
        prediction: The prediction for a frame, at the false-rejection rate of the user.

    Example:
        >>> scores, confidences = {"mug": 1.0, "pan": 0.2}, {"mug": 0.6, "pan": 0.2}
        >>> rejected = Prediction(None, 0.6, scores, "mug", 0.1, confidences)
        >>> round(decided(rejected).unknown, 3)
        0.9
        >>> accepted = Prediction("mug", 0.6, scores, "mug", 0.1, confidences)
        >>> decided(accepted) == accepted
        True
    """
    confidences = numbers_of(prediction, "confidences")
    known = confidences.total()
    if prediction.nothing or known <= 0:
        return prediction
    even = 1 / (1 + prediction.confidence / known)  # as probable as unknown
    wanted = min(known, prediction.known, even) if prediction.label is None else max(known, even)
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
    )
