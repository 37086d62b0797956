"""Announcements on rendered video: `python benchmarks/bench_video.py`.

A learner is taught clean pictures of some objects of the rendered home. A video shows these and
other objects one after another, each on its own camera path, with the noise and the motion blur of
a camera in the hand. Three ways to announce what is seen are compared:

    frame by frame   the prediction of each frame
    debounced        a prediction that stays the same for as many frames as the filter takes
    filter           robocle.TemporalFilter

Flicker is the number of changes that the video does not have. A wrong announcement is a change to a
label that is not that of the object. Wrong frames are those with such a label, which also count the
frames until a new object is noticed. The delay is the number of frames until the first right
announcement of an object.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from measuring import finish, report

from robocle import Learner, Prediction, TemporalFilter
from robocle._internal.randomness import keyed_rng
from robocle.evaluation.corruptions import corruption
from robocle.evaluation.datasets.home import Home
from robocle_sim.home import categories
from robocle_sim.openloris import Recording, record

TAUGHT, STRANGERS, SHOTS, FRAMES = 12, 6, 5, 24
FACTORS = ("clutter", "illumination", "occlusion", "pixel")
ROUGH = 0.4  # the share of frames that are noisy or blurred
Seen = list[str | None]


@dataclass(frozen=True)
class Video:
    """Predictions for the frames of each object, and its label if it was taught."""

    objects: list[tuple[str | None, list[Prediction]]]

    @property
    def frames(self) -> int:
        return sum(len(predictions) for _, predictions in self.objects)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few frames: agreement only")
    quick = parser.parse_args().quick
    objects, frames = (4, 6) if quick else (TAUGHT + STRANGERS, FRAMES)
    video = predicted(objects, frames)
    plain = announced(video, FrameByFrame)
    filtered = announced(video, Filtered)
    delay = mean_delay(video, filtered)
    steps = next(n for n in range(1, FRAMES) if later(video, n, delay))
    debounced = announced(video, lambda: Debounced(steps))
    for name, seen in (("frame by frame", plain), (f"debounced, {steps} frames", debounced),
                       ("filter", filtered)):  # fmt: skip
        print(f"{name:22} flicker {flicker(video, seen):4d}  wrong announcements "
              f"{wrong(video, seen):3d}  wrong frames {wrong_frames(video, seen):4d}  delay "
              f"{mean_delay(video, seen):.2f} frames, of {video.frames}")  # fmt: skip
    for name, count in (("flicker", flicker), ("wrong announcements", wrong)):
        before = max(count(video, plain), 1)
        report(f"{name}, filter / frame by frame", count(video, filtered) / before, 0.5,
               at_least=False, unit="x")  # fmt: skip
    report("wrong frames, filter / debounced at the same delay",
           wrong_frames(video, filtered) / max(wrong_frames(video, debounced), 1), 1,
           at_least=False, unit="x")  # fmt: skip
    finish(demanding=not quick)


def later(video: Video, steps: int, delay: float) -> bool:
    """Return whether debouncing over this many frames announces no earlier than the filter."""
    return mean_delay(video, announced(video, lambda: Debounced(steps))) >= delay - 1e-9


def predicted(objects: int, frames: int) -> Video:
    """Teach the first categories in a random order, and predict the video of all."""
    names = [str(name) for name in keyed_rng(0, "video").permutation(categories())[:objects]]
    taught = names[: objects * TAUGHT // (TAUGHT + STRANGERS)]
    learner = Learner()
    for name in taught:
        for number in range(SHOTS):
            learner.teach(Home.default_root / "clean" / f"{name}_01" / f"{number}.jpg", name)  # type: ignore[operator]
    order = [names[place] for place in keyed_rng(0, "video order").permutation(len(names))]
    return Video([
        (name if name in taught else None, [learner.predict(each) for each in shown(name, frames)])
        for name in order
    ])  # fmt: skip


def shown(name: str, frames: int) -> Iterator[np.ndarray]:
    """Yield the frames of one object, some of them noisy or blurred."""
    rng = keyed_rng(0, "frames", name)
    factor = FACTORS[int(rng.integers(len(FACTORS)))]
    for picture in record(Recording(0, name, 1, factor, int(rng.integers(1, 10))), frames):
        pixels = np.asarray(picture.convert("RGB"))
        if rng.random() < ROUGH:
            pixels = corruption(str(rng.choice(["noise", "blur"])))(pixels, rng)
        yield pixels


class FrameByFrame:
    def update(self, prediction: Prediction) -> str | None:
        return prediction.label


class Debounced:
    def __init__(self, steps: int) -> None:
        self.last: list[str | None] = []
        self.steps = steps
        self.label: str | None = None

    def update(self, prediction: Prediction) -> str | None:
        self.last = [*self.last, prediction.label][-self.steps :]
        if len(self.last) == self.steps and len(set(self.last)) == 1:
            self.label = prediction.label
        return self.label


class Filtered:
    def __init__(self) -> None:
        self.filter = TemporalFilter()

    def update(self, prediction: Prediction) -> str | None:
        return self.filter.update(prediction).label


def announced(video: Video, make: Callable[[], object]) -> list[Seen]:
    """Return what is announced for each object's frames. One announcer sees the whole video."""
    announcer = make()
    return [
        [announcer.update(each) for each in predictions]  # type: ignore[attr-defined]
        for _, predictions in video.objects
    ]


def flicker(video: Video, seen: Sequence[Seen]) -> int:
    """Return the number of changes beyond those of the video."""
    every = [label for labels in seen for label in labels]
    changes = sum(one != other for one, other in pairwise(every))
    truth = [label for label, predictions in video.objects for _ in predictions]
    needed = sum(one != other for one, other in pairwise(truth))
    return max(0, changes - needed)


def wrong(video: Video, seen: Sequence[Seen]) -> int:
    """Return the number of changes to a label that is not the object's."""
    last: str | None = None
    count = 0
    for (label, _), labels in zip(video.objects, seen, strict=True):
        for each in labels:
            count += each not in (None, label, last)
            last = each
    return count


def wrong_frames(video: Video, seen: Sequence[Seen]) -> int:
    """Return the number of frames with a label that is not the object's."""
    return sum(
        each is not None and each != label
        for (label, _), labels in zip(video.objects, seen, strict=True)
        for each in labels
    )


def mean_delay(video: Video, seen: Sequence[Seen]) -> float:
    """Return the mean number of frames until the first right announcement of an object."""
    return float(np.mean([
        labels.index(label) if label in labels else len(labels)
        for (label, _), labels in zip(video.objects, seen, strict=True)
    ]))  # fmt: skip


if __name__ == "__main__":
    main()
