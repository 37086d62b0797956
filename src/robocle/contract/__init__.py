"""Contract checks: the rules that every part of a kind must satisfy, built-in or plug-in.

    from robocle.contract import check_classifier

    check_classifier("knn:k=3")

A check raises AssertionError with the rule that is broken. Each kind also has a tuple of its rules,
such as `CLASSIFIER_CHECKS`, for tests with one case per rule:

    @pytest.mark.parametrize("check", CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
    def test_knn_satisfies_the_contract(check):
        check("knn:k=3")

A part is named by its spec, so a plug-in must be installed before it can be checked.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from robocle.contract.classifiers import CLASSIFIER_CHECKS
from robocle.contract.evaluation import CORRUPTION_CHECKS, DATASET_CHECKS
from robocle.contract.features import BACKBONE_CHECKS, POOLING_CHECKS, VIEW_CHECKS

__all__ = [
    "BACKBONE_CHECKS",
    "CLASSIFIER_CHECKS",
    "CORRUPTION_CHECKS",
    "DATASET_CHECKS",
    "POOLING_CHECKS",
    "VIEW_CHECKS",
    "check_backbone",
    "check_classifier",
    "check_corruption",
    "check_dataset",
    "check_pooling",
    "check_views",
]


def check_classifier(spec: str) -> None:
    """Check a classifier against every rule of its kind.

    Args:
        spec: The classifier's spec, such as "slda:shrinkage=oas".

    Raises:
        AssertionError: The classifier breaks a rule.

    Example:
        >>> check_classifier("ncm")
    """
    _run(CLASSIFIER_CHECKS, spec)


def check_pooling(spec: str) -> None:
    """Check a pooling against every rule of its kind.

    Args:
        spec: The pooling's spec, such as "moments:r=3".

    Raises:
        AssertionError: The pooling breaks a rule.

    Example:
        >>> check_pooling("avg")
    """
    _run(POOLING_CHECKS, spec)


def check_views(spec: str) -> None:
    """Check views against every rule of their kind.

    Args:
        spec: The spec of the views, such as "centre:shares=0.9/0.6".

    Raises:
        AssertionError: The views break a rule.

    Example:
        >>> check_views("centre")
    """
    _run(VIEW_CHECKS, spec)


def check_corruption(spec: str) -> None:
    """Check a corruption against every rule of its kind.

    Args:
        spec: The corruption's spec, such as "noise:low=0.1,high=0.3".

    Raises:
        AssertionError: The corruption breaks a rule.

    Example:
        >>> check_corruption("blur")
    """
    _run(CORRUPTION_CHECKS, spec)


def check_backbone(spec: str) -> None:
    """Check a backbone against every rule of its kind.

    Args:
        spec: The backbone's spec, such as "efficientnet_lite0:threads=2".

    Raises:
        AssertionError: The backbone breaks a rule.

    Example:
        >>> check_backbone("efficientnet_lite0")
    """
    _run(BACKBONE_CHECKS, spec)


def check_dataset(spec: str, root: Path) -> None:
    """Check a data set against every rule of its kind.

    Args:
        spec: The data set's spec, such as "folder:layout=domains".
        root: A folder with at least one picture in the layout of this data set. It is only read.

    Raises:
        AssertionError: The data set breaks a rule.

    Example:
        >>> from robocle.evaluation.datasets.home import Home
        >>> check_dataset("home", Home.default_root)
    """
    for check in DATASET_CHECKS:
        check(spec, root)


def _run(checks: Iterable[Callable[[str], None]], spec: str) -> None:
    for check in checks:
        check(spec)
