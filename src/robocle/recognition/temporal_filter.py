"""The temporal filter: what a video shows, from the predictions of its frames.

Frame by frame, a prediction flickers: one blurred frame is called unknown, another is taken for a
similar object. The filter keeps a posterior over what is in front of the camera (each label, an
unknown object, nothing) and updates it with every frame. It is the forward filter of a hidden
Markov model: what is seen stays with probability 1 - 1 / STAY, and otherwise changes to anything
else. A new announcement needs a posterior of `sure`; until then the last one stands.

Successive frames are similar, so their errors may be, too: the evidence of a frame counts as
1 / `frames` of that of an independent picture. No frame counts for more than FLOOR allows.
"""

from dataclasses import dataclass, field

import numpy as np

from robocle.spec import require_between
from robocle.types import Prediction

# How many frames the same object stays in front of the camera, on average: 4 s at 15 per second.
STAY = 60.0
# The least probability of anything, given one frame: one frame alone never decides.
FLOOR = 0.01
UNKNOWN, NOTHING = 0, 1
"""The keys of what is not a label. Labels are strings."""


@dataclass(frozen=True)
class Announcement:
    """What a video shows at present."""

    label: str | None
    """The label; None if the object is unknown or there is nothing to see."""
    nothing: str
    """Why there is nothing to see; empty otherwise. Without a label, empty means unknown."""
    probabilities: dict[str, float]
    """The posterior probability of each label, over the last frames."""
    unknown: float
    """The posterior probability of an unknown object, or of nothing to see. All sum to 1."""
    changed: bool
    """Whether this announcement differs from the one of the frame before."""


@dataclass
class TemporalFilter:
    """Announces a label when the evidence over the last frames says so.

    Labels may appear, be renamed or be forgotten between two frames.

    Args:
        frames: How many frames count as much as one independent picture, from 1 to 1000. More
            make announcements steadier and later.
        sure: The posterior probability that a new announcement needs, from 0.5 to 0.999.

    Raises:
        SpecError: A number is out of range.

    Example:
        >>> from robocle.types import Prediction
        >>> def frame(mug, pan):
        ...     scores = {"mug": mug, "pan": pan}
        ...     nearest = max(scores, key=scores.get)
        ...     return Prediction(nearest, scores[nearest], scores, nearest, 0.9, scores)
        >>> frames = [frame(0.9, 0.05), frame(0.9, 0.05), frame(0.1, 0.8), frame(0.9, 0.05)]
        >>> seen = TemporalFilter()
        >>> [seen.update(each).label for each in frames]
        ['mug', 'mug', 'mug', 'mug']
    """

    frames: float = 1.0
    sure: float = 0.7
    _posterior: dict[str | int, float] = field(default_factory=dict, init=False, repr=False)
    _announced: str | int | None = field(default=None, init=False, repr=False)
    _reason: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        require_between("frames", self.frames, 1, 1000)
        require_between("sure", self.sure, 0.5, 0.999)

    def reset(self) -> None:
        """Forget all frames, such as after a cut or a pause of the camera."""
        self._posterior, self._announced, self._reason = {}, None, ""

    def update(self, prediction: Prediction) -> Announcement:
        """Add one frame.

        Args:
            prediction: The prediction for the frame.

        Returns:
            What the video shows after this frame.
        """
        evidence = _evidence(prediction)
        self._posterior = self._updated(evidence)
        self._reason = prediction.nothing or self._reason
        before = self._announced
        self._announced = self._decided(before if before in evidence else None)
        return self._announcement(changed=self._announced != before)

    def _updated(self, evidence: dict[str | int, float]) -> dict[str | int, float]:
        """Return the posterior after one more frame."""
        keys = list(evidence)
        before = np.array([self._posterior.get(key, 0.0) for key in keys])
        # The probability of labels that are gone, or renamed, goes to everything else.
        before += (1 - before.sum()) / len(keys)
        prior = before * (1 - 1 / STAY) + 1 / (STAY * len(keys))
        fits = np.array([evidence[key] for key in keys])
        after = prior * np.maximum(fits, FLOOR) ** (1 / self.frames)
        return dict(zip(keys, (after / after.sum()).tolist(), strict=True))

    def _decided(self, before: str | int | None) -> str | int:
        best = max(self._posterior, key=self._posterior.__getitem__)
        if self._posterior[best] >= self.sure:
            return best
        # Before the first announcement, and when its label is gone, the object is unknown.
        return UNKNOWN if before is None else before

    def _announcement(self, changed: bool) -> Announcement:
        labels = {key: p for key, p in self._posterior.items() if isinstance(key, str)}
        label = self._announced if isinstance(self._announced, str) else None
        nothing = self._reason if self._announced == NOTHING else ""
        rest = self._posterior[UNKNOWN] + self._posterior[NOTHING]
        return Announcement(label, nothing, labels, rest, changed)


def _evidence(prediction: Prediction) -> dict[str | int, float]:
    """Return the probability of each label, of an unknown object and of nothing, for one frame."""
    seen = 0.0 if prediction.nothing else 1.0
    evidence: dict[str | int, float] = {
        label: seen * p for label, p in prediction.confidences.items()
    }
    return evidence | {UNKNOWN: seen * prediction.unknown, NOTHING: 1.0 - seen}
