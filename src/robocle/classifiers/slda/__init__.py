"""SLDA, the classifier of the default learner; `classifier` describes the path of a lesson."""

from robocle.classifiers.slda.classifier import StreamingLDA

__all__ = ["StreamingLDA"]
