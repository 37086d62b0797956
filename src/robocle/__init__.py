"""robocle: a robot learns new objects from a few labelled pictures, one at a time, on a CPU.

    import robocle

    learner = robocle.Learner()
    learner.teach("mug1.jpg", "mug")
    print(learner.predict("somewhere_else.jpg").label)

A public name is imported when it is first used, so that `robocle --help` does not import numpy.
What needs an extra, or is for those who extend or evaluate robocle, is in a module of its own:
`robocle.sklearn`, `robocle.contract`, `robocle.evaluation`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robocle.errors import (
    BackboneError,
    BrokerError,
    CameraError,
    DataError,
    FeatureError,
    FinderError,
    FleetError,
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
    from robocle.cameras import Camera, Frame, open_camera
    from robocle.classifiers import StreamingClassifier, classifier
    from robocle.finders import Finder, finder
    from robocle.images.quality import Complaint
    from robocle.learner import Learner
    from robocle.learner.embedding import Embedding
    from robocle.learner.finding import Find
    from robocle.learner.pipeline import Parts
    from robocle.learner.tracking import Track, Tracker
    from robocle.poolings import pooling
    from robocle.recognition.explanation import Explanation
    from robocle.recognition.readiness import Readiness, TaughtSample
    from robocle.recognition.temporal_filter import Announcement, TemporalFilter
    from robocle.types import FeatureMaps, Prediction

__version__ = "0.2.0.dev0"
__all__ = [
    "Announcement",
    "BackboneError",
    "BrokerError",
    "Camera",
    "CameraError",
    "Complaint",
    "DataError",
    "Embedding",
    "Explanation",
    "FeatureError",
    "FeatureMaps",
    "Find",
    "Finder",
    "FinderError",
    "FleetError",
    "Frame",
    "ImageError",
    "InexactError",
    "LabelError",
    "Learner",
    "MissingExtraError",
    "NotLastStepError",
    "NothingTaughtError",
    "NothingToUndoError",
    "Parts",
    "Prediction",
    "QualityError",
    "Readiness",
    "RobocleError",
    "RosError",
    "SpecError",
    "StateAccessError",
    "StateError",
    "StateLockedError",
    "StreamingClassifier",
    "TaughtSample",
    "TemporalFilter",
    "Track",
    "Tracker",
    "UnknownLabelError",
    "UnknownSampleError",
    "backbone",
    "classifier",
    "finder",
    "open_camera",
    "pooling",
]

_HOMES = {
    "backbones": ["backbone"],
    "cameras": ["Camera", "Frame", "open_camera"],
    "classifiers": ["StreamingClassifier", "classifier"],
    "finders": ["Finder", "finder"],
    "images.quality": ["Complaint"],
    "learner": ["Learner"],
    "learner.embedding": ["Embedding"],
    "learner.finding": ["Find"],
    "learner.pipeline": ["Parts"],
    "learner.tracking": ["Track", "Tracker"],
    "poolings": ["pooling"],
    "recognition.explanation": ["Explanation"],
    "recognition.readiness": ["Readiness", "TaughtSample"],
    "recognition.temporal_filter": ["Announcement", "TemporalFilter"],
    "types": ["FeatureMaps", "Prediction"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'robocle' has no attribute {name!r}")
    home = import_module(f"robocle.{_HOME_OF[name]}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
