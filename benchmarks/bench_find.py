"""Finding objects: `python benchmarks/bench_find.py`.

A frame of 640x480 pixels is searched with 1 to 12 boxes that a finder returns at once, so that only
the learner's own work is measured. Each box should cost about one prediction, and a prediction no
more than before there were finders. The boxes must be recognised as they are alone.
"""

from functools import partial

import numpy as np
from measuring import QUICK, finish, report, seconds

from robocle import Learner
from robocle.evaluation.datasets.home import Home
from robocle.finders import Corners
from robocle.finders.boxes import looked_at
from robocle.types import Pixels

NUMBERS = (1, 6) if QUICK else (1, 6, 12)
REPEATS = 2 if QUICK else 15


class Boxes:
    """A finder that returns a chosen number of boxes, on a grid."""

    fingerprint, input_size = "boxes", 32

    def __init__(self, number: int) -> None:
        rows, columns = np.divmod(np.arange(number), 4)
        low = np.stack([columns / 4, rows / 3], axis=1)
        self._corners: Corners = np.hstack([low, low + (0.2, 0.3)])

    def corners(self, pixels: Pixels) -> Corners:
        return self._corners


def main() -> None:
    learner, frame = taught(), np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    one = seconds(partial(learner.predict, frame), REPEATS)
    for number in NUMBERS:
        learner.finder = Boxes(number)
        agree(learner, frame, number)
        whole = seconds(partial(learner.find, frame, most=number), REPEATS)
        report(f"{number} boxes and the whole frame / as many predictions",
               whole / one / (number + 1), 1.2, at_least=False, unit="x")  # fmt: skip
        if number == 6:
            report(
                "frames per second with 6 boxes, without the finder", 1 / whole, 5, at_least=True
            )
    finish(demanding=not QUICK)


def taught() -> Learner:
    """Return a learner that was taught three objects of the home."""
    learner, home = Learner(), Home.default_root
    assert home is not None
    for label in ("mug", "clock", "banana"):
        for number in range(3):
            learner.teach(home / f"clean/{label}_01/{number}.jpg", label)
    return learner


def agree(learner: Learner, frame: Pixels, number: int) -> None:
    """Require that each box has the scores of the same region predicted alone."""
    found = learner.find(frame, most=number, false_accept=1)
    size = frame.shape[1], frame.shape[0]
    for box, prediction in found:
        region = None if box[2:] == size else looked_at(box, size)
        alone = learner.predict(frame, box=region, false_accept=1)
        difference = max(abs(alone.scores[label] - score)
                         for label, score in prediction.scores.items())  # fmt: skip
        assert difference < 1e-4, f"the scores of {box} differ by {difference}"


if __name__ == "__main__":
    main()
