"""Contract checks: the rules that every part of a kind must satisfy, built-in or plug-in.

    from robocle.contract import check_classifier

    check_classifier("knn:k=3")

A check raises AssertionError with the rule that is broken. Each kind also has a tuple of its rules,
such as `CLASSIFIER_CHECKS`, for tests with one case per rule:

    @pytest.mark.parametrize("check", CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
    def test_knn_satisfies_the_contract(check):
        check("knn:k=3")

A check takes the spec of a part that is installed, its class, which is called without arguments, or
an instance, of which each rule takes a copy:

    check_classifier(NearestNeighbours(k=3))
"""

from collections.abc import Iterable
from pathlib import Path

from robocle.backbones import Backbone
from robocle.contract.checking import Check, Given, GivenClassifier
from robocle.contract.classifiers import CLASSIFIER_CHECKS
from robocle.contract.evaluation import CORRUPTION_CHECKS, DATASET_CHECKS
from robocle.contract.features import BACKBONE_CHECKS, FINDER_CHECKS, POOLING_CHECKS, VIEW_CHECKS
from robocle.evaluation.corruptions import Corruption
from robocle.evaluation.datasets import Dataset
from robocle.finders import Finder
from robocle.images.views import Views
from robocle.poolings import Pooling

__all__ = [
    "BACKBONE_CHECKS",
    "CLASSIFIER_CHECKS",
    "CORRUPTION_CHECKS",
    "DATASET_CHECKS",
    "FINDER_CHECKS",
    "POOLING_CHECKS",
    "VIEW_CHECKS",
    "check_backbone",
    "check_classifier",
    "check_corruption",
    "check_dataset",
    "check_finder",
    "check_pooling",
    "check_views",
]


def check_classifier(given: GivenClassifier) -> None:
    """Check a classifier against every rule of its kind.

    Args:
        given: A spec, such as "slda:shrinkage=oas", a class or an instance.

    Raises:
        AssertionError: The classifier breaks a rule.

    Example:
        >>> check_classifier("ncm")
    """
    _run(CLASSIFIER_CHECKS, given)


def check_pooling(given: Given[Pooling]) -> None:
    """Check a pooling against every rule of its kind.

    Args:
        given: A spec, such as "moments:r=3", a class or an instance.

    Raises:
        AssertionError: The pooling breaks a rule.

    Example:
        >>> check_pooling("avg")
    """
    _run(POOLING_CHECKS, given)


def check_views(given: Given[Views]) -> None:
    """Check views against every rule of their kind.

    Args:
        given: A spec, such as "centre:shares=0.9/0.6", a class or an instance.

    Raises:
        AssertionError: The views break a rule.

    Example:
        >>> check_views("centre")
    """
    _run(VIEW_CHECKS, given)


def check_corruption(given: Given[Corruption]) -> None:
    """Check a corruption against every rule of its kind.

    Args:
        given: A spec, such as "noise:low=0.1,high=0.3", a class or an instance.

    Raises:
        AssertionError: The corruption breaks a rule.

    Example:
        >>> check_corruption("blur")
    """
    _run(CORRUPTION_CHECKS, given)


def check_backbone(given: Given[Backbone]) -> None:
    """Check a backbone against every rule of its kind.

    Args:
        given: A spec, such as "efficientnet_lite0:threads=2", a class or an instance.

    Raises:
        AssertionError: The backbone breaks a rule.

    Example:
        >>> check_backbone("efficientnet_lite0")
    """
    _run(BACKBONE_CHECKS, given)


def check_finder(given: Given[Finder]) -> None:
    """Check a finder against every rule of its kind.

    Args:
        given: A spec, such as "onnx:picodet.onnx", a class or an instance.

    Raises:
        AssertionError: The finder breaks a rule.
        FinderError: The finder cannot be loaded, or returns something other than boxes.
    """
    _run(FINDER_CHECKS, given)


def check_dataset(given: Given[Dataset], root: Path) -> None:
    """Check a data set against every rule of its kind.

    Args:
        given: A spec, such as "folder:layout=domains".
        root: A folder with at least one picture in the layout of this data set. It is only read.

    Raises:
        AssertionError: The data set breaks a rule.

    Example:
        >>> from robocle.evaluation.datasets.home import Home
        >>> check_dataset("home", Home.default_root)
    """
    for check in DATASET_CHECKS:
        check(given, root)


def _run(checks: Iterable[Check], given: object) -> None:
    for check in checks:
        check(given)
