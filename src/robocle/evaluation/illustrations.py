"""What a report shows besides figures: moment distributions and example pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robocle.evaluation.embedding import backbone_facts, corrupted_pixels, embed
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Study
from robocle.evaluation.moment_distances import moment_distances
from robocle.evaluation.trial import Trial
from robocle.images.thumbnails import thumbnail

MOMENTS = ("moments:r=3,form=root", "moments:r=3,form=standardised")
MEASURED_PICTURES = 400
SHOWN_PICTURES = 8


def moment_trials(study: Study, root: str, backbones: Sequence[str]) -> list[Trial]:
    """What the moment figure measures: a trial without a classifier for each backbone and form."""
    corruptions = tuple(dict.fromkeys(("clean", *study.tested)))
    return [
        Trial(study.dataset, root, study.scenario, study.seeds[0], backbone, form, "", "clean",
              corruptions)
        for backbone in backbones
        for form in MOMENTS
    ]  # fmt: skip


def measure_moments(trial: Trial, cache: EmbeddingCache) -> dict[str, Any]:
    """The moment figure's data for one backbone and form."""
    paths = _spread(_asked(trial), MEASURED_PICTURES)
    for corruption in trial.tested:
        complaints = embed(cache, trial.view(corruption), [trial.pooling], paths)
        paths = [path for path in paths if str(path) not in complaints]
    return moment_distances(paths, trial.view("clean"), trial.pooling, trial.tested, cache)


def example_pictures(trial: Trial, unreadable: frozenset[str]) -> dict[str, list[str]]:
    """A few pictures under each corruption, as data addresses for a page."""
    readable = [path for path in _asked(trial) if str(path) not in unreadable]
    paths = _spread(readable, SHOWN_PICTURES)
    side = backbone_facts(trial.backbone).input_size
    conditions = dict.fromkeys((trial.taught, *trial.tested))
    return {
        condition: [
            thumbnail(corrupted_pixels(path, side, trial.view(condition))) for path in paths
        ]
        for condition in conditions
    }


def _asked(trial: Trial) -> list[Path]:
    return [example.path for test in trial.stream().tests.values() for example in test]


def _spread(paths: list[Path], count: int) -> list[Path]:
    """At most so many, evenly spread."""
    count = min(count, len(paths))
    return [paths[place * len(paths) // count] for place in range(count)]
