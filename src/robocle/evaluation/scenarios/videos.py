"""low_shot_instance and instance, the protocols of OpenLORIS, and new_classes, that of CORe50."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, get_args

from robocle.errors import DataError
from robocle.evaluation.scenarios import (
    MOST,
    Count,
    Few,
    Stream,
    by_label,
    evenly_spaced,
    grouped,
    is_enough,
    require_count,
    shuffled,
    split_pools,
    with_labels_of,
)
from robocle.spec import Described, require_between, require_choice
from robocle.types import Example

Disjoint = Literal["pictures", "content"]


class LowShotVideos(Described):
    """One class per step: the frames of one random video of it, in order (OpenLORIS-small)."""

    def __init__(
        self, frames: Count = "all", few: Few = "error", disjoint: Disjoint = "pictures"
    ) -> None:
        """Choose the frames.

        Args:
            frames: The number of frames per video, evenly spaced, or "all".
            few: What to do about a class without a video to teach or pictures to test.
            disjoint: With "content", copies of a taught file are not tested.
        """
        _require_options(frames, disjoint)
        require_choice("few", few, get_args(Few))
        self.frames, self.few, self.disjoint = frames, few, disjoint

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Teach videos of the train split, and test on the whole test split."""
        videos, to_test = _train_videos(examples, "low_shot_instance")
        choices, testable = by_label(frames[0] for frames in videos.values()), by_label(to_test)
        steps, tests = [], []
        for label in shuffled(sorted({*choices, *testable}), seed, "class order"):
            drawn = shuffled(choices.get(label, []), seed, "video", label)[:1]
            taught = _spread(videos[drawn[0].video], self.frames) if drawn else []
            if is_enough(label, taught, testable.get(label, []), 1, self.few):
                steps.append(taught)
                tests += testable[label]
        return Stream.of(steps, {"test": tests}).disjoint_in(self.disjoint)


class AllVideos(Described):
    """All videos in random order, their frames in order; classes come again (OpenLORIS)."""

    def __init__(
        self, steps: int = 1, frames: Count = "all", disjoint: Disjoint = "pictures"
    ) -> None:
        """Choose the steps and the frames.

        Args:
            steps: The number of steps that the videos are divided into.
            frames: The number of frames per video, evenly spaced, or "all".
            disjoint: With "content", copies of a taught file are not tested.
        """
        _require_options(frames, disjoint)
        require_between("steps", steps, 1, MOST)
        self.steps, self.frames, self.disjoint = steps, frames, disjoint

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Teach the videos of the train split in steps, and test on the whole test split."""
        videos, to_test = _train_videos(examples, "instance")
        order = shuffled(sorted(videos), seed, "video order")
        cuts = [len(order) * k // self.steps for k in range(self.steps + 1)]
        groups = [order[start:end] for start, end in pairwise(cuts) if start < end]
        steps = [
            [frame for name in group for frame in _spread(videos[name], self.frames)]
            for group in groups
        ]
        return _tested_on(steps, to_test).disjoint_in(self.disjoint)


class NewClasses(Described):
    """Several new classes per step, all their videos in random order (NC of CORe50)."""

    def __init__(
        self, first: int = 10, each: int = 5, frames: Count = "all", disjoint: Disjoint = "pictures"
    ) -> None:
        """Choose the steps and the frames.

        Args:
            first: The number of classes that the first step teaches.
            each: The number of classes that each further step teaches.
            frames: The number of frames per video, evenly spaced, or "all".
            disjoint: With "content", copies of a taught file are not tested.
        """
        _require_options(frames, disjoint)
        require_between("first", first, 1, MOST)
        require_between("each", each, 1, MOST)
        self.first, self.each, self.frames, self.disjoint = first, each, frames, disjoint

    def stream(self, examples: Iterable[Example], seed: int) -> Stream:
        """Teach the videos of the train split, class by class, and test on the whole test split."""
        videos, to_test = _train_videos(examples, "new_classes")
        of_label = by_label(frames[0] for frames in videos.values())
        order = shuffled(sorted(of_label), seed, "class order")
        starts = [0, *range(self.first, len(order), self.each)]
        steps = []
        for start, end in pairwise([*starts, len(order)]):
            taught = [frame.video for label in order[start:end] for frame in of_label[label]]
            mixed = shuffled(sorted(taught), seed, "video order", order[start])
            steps.append([frame for name in mixed for frame in _spread(videos[name], self.frames)])
        return _tested_on(steps, to_test).disjoint_in(self.disjoint)


def _require_options(frames: Count, disjoint: Disjoint) -> None:
    """Raise SpecError unless the options that all of these scenarios have can be used."""
    require_count("frames", frames)
    require_choice("disjoint", disjoint, get_args(Disjoint))


def _train_videos(
    examples: Iterable[Example], name: str
) -> tuple[dict[str, list[Example]], list[Example]]:
    """Return the frames of each video of the train split, and the test split."""
    to_teach, to_test = split_pools(examples)
    if to_teach is to_test:
        raise DataError(f"{name} needs data with a train and a test split, such as openloris")
    for example in to_teach:
        if not example.video:
            raise DataError(f"{name} needs videos, and {example.path} is not a frame of one")
    return grouped(to_teach, lambda example: example.video), to_test


def _tested_on(steps: list[list[Example]], to_test: list[Example]) -> Stream:
    """Return the stream of some steps, tested on all pictures of the taught labels."""
    taught = (example for step in steps for example in step)
    return Stream.of(steps, {"test": with_labels_of(taught, to_test)})


def _spread(frames: list[Example], count: Count) -> list[Example]:
    """Return that many frames, or all."""
    return frames if isinstance(count, str) else evenly_spaced(frames, count)
