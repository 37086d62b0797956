"""robocle: a robot learns new objects from a few labelled pictures, one at a time, on a CPU.

import robocle

learner = robocle.Learner()
learner.teach("mug1.jpg", "mug")
print(learner.predict("somewhere_else.jpg").label)
"""

from robocle.backbones import backbone
from robocle.classifiers import classifier
from robocle.errors import RobocleError
from robocle.learner import Learner
from robocle.pooling import pooling
from robocle.types import FeatureMaps, Prediction

__version__ = "0.1.0"
__all__ = [
    "FeatureMaps",
    "Learner",
    "Prediction",
    "RobocleError",
    "backbone",
    "classifier",
    "pooling",
]
