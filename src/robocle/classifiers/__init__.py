"""Classifiers: from embeddings to labels, learned one embedding at a time.

    clf = robocle.classifier("slda:scatter=exact")
    clf.learn(z, "mug")
    clf.scores(Z)        # (n, len(clf.labels)), higher is better
    clf.predict(Z)       # the best label for each row
    clf.labels           # in the order they were first taught

Every classifier is a StreamingClassifier: it keeps its samples, new labels can be taught at any
time, and refused input changes nothing.
"""

from robocle.classifiers.samples import ClassifierState
from robocle.classifiers.streaming import StreamingClassifier
from robocle.registry import Registry
from robocle.spec import Option

__all__ = ["CLASSIFIERS", "ClassifierState", "StreamingClassifier", "classifier"]

CLASSIFIERS: Registry[StreamingClassifier] = Registry(
    "classifier",
    {
        "slda": "robocle.classifiers.slda.classifier:StreamingLDA",
        "ncm": "robocle.classifiers.means:NearestClassMean",
        "sqda": "robocle.classifiers.sqda:StreamingQDA",
        "snb": "robocle.classifiers.snb:StreamingNaiveBayes",
        "sovr": "robocle.classifiers.means:StreamingOneVersusRest",
        "cbcl": "robocle.classifiers.cbcl:CentroidConcepts",
        "perceptron": "robocle.classifiers.perceptron:OnlinePerceptron",
        "finetune": "robocle.classifiers.finetune:FineTuning",
        "icarl": "robocle.classifiers.icarl:OnlineICaRL",
        "ridge": "robocle.classifiers.ridge:RidgeRegression",
        "fecam": "robocle.classifiers.fecam:FeatureCovariances",
        "klda": "robocle.classifiers.normalised:KernelLDA",
        "mahalanobis": "robocle.classifiers.normalised:NormalisedMahalanobis",
        "teen": "robocle.classifiers.teen:CalibratedMeans",
    },
)


def classifier(spec: str, **context: Option) -> StreamingClassifier:
    """Build the classifier that a spec describes.

    Args:
        spec: The name and options of the classifier, such as "slda:scatter=exact,shrinkage=oas".
        context: Values for options that the classifier has and the spec does not set.

    Returns:
        A classifier that has learned nothing yet.

    Raises:
        SpecError: The name or an option is unknown, or an option has an invalid value.

    >>> classifier("snb:shrinkage=0.01")
    <StreamingNaiveBayes(variant='correct', shrinkage=0.01), 0 samples of 0 labels>
    """
    return CLASSIFIERS.build(spec, **context)
