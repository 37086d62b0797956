"""What a report shows besides metrics: moment distributions and example pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robocle.evaluation.embedding import backbone_facts, corrupted_pixels, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Study
from robocle.evaluation.moment_distances import moment_distances
from robocle.evaluation.trial import Trial
from robocle.images.square import thumbnail

MOMENTS = ("moments:r=3,form=root", "moments:r=3,form=standardised")
MEASURED_PICTURES = 400
SHOWN_PICTURES = 8


def moment_trials(study: Study, root: str, backbones: Sequence[str]) -> list[Trial]:
    """Return one trial per backbone and form of moments, without a classifier."""
    corruptions = tuple(dict.fromkeys(("clean", *study.tested)))
    return [
        Trial(study.dataset, root, study.scenario, study.seeds[0], backbone, form, "", "clean",
              corruptions)
        for backbone in backbones
        for form in MOMENTS
    ]  # fmt: skip


def measure_moments(trial: Trial, cache: EmbeddingCache) -> dict[str, Any]:
    """Return the data of the moment figure for one backbone and form of moments."""
    paths = _spread(_tested(trial), MEASURED_PICTURES)
    for corruption in trial.tested:
        unreadable = embed_into(cache, trial.test_setup(corruption), [trial.pooling], paths)
        paths = [path for path in paths if str(path) not in unreadable]
    return moment_distances(paths, trial.test_setup("clean"), trial.pooling, trial.tested, cache)


def example_pictures(trial: Trial, unreadable: frozenset[str]) -> dict[str, list[str]]:
    """Return a few test pictures under each corruption of a trial, as data URLs."""
    readable = [path for path in _tested(trial) if str(path) not in unreadable]
    paths = _spread(readable, SHOWN_PICTURES)
    side = backbone_facts(trial.backbone).input_size
    conditions = dict.fromkeys((trial.taught, *trial.tested))
    return {
        condition: [
            thumbnail(corrupted_pixels(path, side, trial.test_setup(condition))) for path in paths
        ]
        for condition in conditions
    }


def _tested(trial: Trial) -> list[Path]:
    return [example.path for example in trial.stream().tested]


def _spread(paths: list[Path], count: int) -> list[Path]:
    """Return at most that many paths, evenly spaced."""
    count = min(count, len(paths))
    return [paths[place * len(paths) // count] for place in range(count)]
