"""robocle: a robot learns new objects from a few labelled pictures, one at a time, on a CPU.

    import robocle

    learner = robocle.Learner()
    learner.teach("mug1.jpg", "mug")
    print(learner.predict("somewhere_else.jpg").label)

A public name is imported when it is first used, so that `robocle --help` does not import numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robocle.errors import (
    BackboneError,
    BrokerError,
    CameraError,
    DataError,
    FeatureError,
    ImageError,
    InexactError,
    LabelError,
    MissingExtraError,
    NothingTaughtError,
    NothingToUndoError,
    NotLastStepError,
    QualityError,
    RobocleError,
    RosError,
    SpecError,
    StateAccessError,
    StateError,
    StateLockedError,
    UnknownLabelError,
    UnknownSampleError,
)

if TYPE_CHECKING:
    from robocle.backbones import backbone
    from robocle.classifiers import classifier
    from robocle.images.quality import Complaint
    from robocle.learner import Learner
    from robocle.learner.embedding import Embedding
    from robocle.poolings import pooling
    from robocle.recognition.explanation import Explanation
    from robocle.recognition.temporal_filter import Announcement, TemporalFilter
    from robocle.types import FeatureMaps, Prediction

__version__ = "0.1.0"
__all__ = [
    "Announcement",
    "BackboneError",
    "BrokerError",
    "CameraError",
    "Complaint",
    "DataError",
    "Embedding",
    "Explanation",
    "FeatureError",
    "FeatureMaps",
    "ImageError",
    "InexactError",
    "LabelError",
    "Learner",
    "MissingExtraError",
    "NotLastStepError",
    "NothingTaughtError",
    "NothingToUndoError",
    "Prediction",
    "QualityError",
    "RobocleError",
    "RosError",
    "SpecError",
    "StateAccessError",
    "StateError",
    "StateLockedError",
    "TemporalFilter",
    "UnknownLabelError",
    "UnknownSampleError",
    "backbone",
    "classifier",
    "pooling",
]

_HOMES = {
    "Announcement": "robocle.recognition.temporal_filter",
    "Complaint": "robocle.images.quality",
    "Embedding": "robocle.learner.embedding",
    "Explanation": "robocle.recognition.explanation",
    "FeatureMaps": "robocle.types",
    "Learner": "robocle.learner",
    "Prediction": "robocle.types",
    "TemporalFilter": "robocle.recognition.temporal_filter",
    "backbone": "robocle.backbones",
    "classifier": "robocle.classifiers",
    "pooling": "robocle.poolings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'robocle' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
