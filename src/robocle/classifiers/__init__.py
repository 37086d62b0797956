"""Classifiers: vectors to labels, learnt one at a time.

    clf = robocle.classifier("slda:scatter=exact")
    clf.learn(z, "mug")
    clf.scores(Z)        # (n, len(clf.labels)), higher is better
    clf.labels           # in the order they were first taught

Every classifier is a StreamingClassifier: labels appear when they are taught, no sample is kept
(unless its description says so), and nothing changes when the input is refused.
"""

from robocle.classifiers.streaming import ClassifierState, StreamingClassifier
from robocle.registry import Registry
from robocle.spec import Option

__all__ = ["CLASSIFIERS", "ClassifierState", "StreamingClassifier", "classifier"]

CLASSIFIERS: Registry[StreamingClassifier] = Registry(
    "classifier",
    {
        "slda": "robocle.classifiers.slda:StreamingLDA",
        "ncm": "robocle.classifiers.ncm:NearestClassMean",
        "sqda": "robocle.classifiers.sqda:StreamingQDA",
        "snb": "robocle.classifiers.snb:StreamingNaiveBayes",
        "sovr": "robocle.classifiers.sovr:StreamingOneVersusRest",
        "cbcl": "robocle.classifiers.cbcl:CentroidConcepts",
        "perceptron": "robocle.classifiers.perceptron:OnlinePerceptron",
        "finetune": "robocle.classifiers.finetune:FineTuning",
        "icarl": "robocle.classifiers.icarl:OnlineICaRL",
        "ridge": "robocle.classifiers.ridge:RidgeRegression",
        "fecam": "robocle.classifiers.fecam:FeatureCovariances",
        "klda": "robocle.classifiers.klda:KernelLDA",
    },
)


def classifier(spec: str, **context: Option) -> StreamingClassifier:
    """The classifier a spec describes, such as "slda:scatter=exact,shrinkage=oas"."""
    return CLASSIFIERS.build(spec, **context)
