"""Every registered classifier satisfies the contract."""

from collections.abc import Callable

import numpy as np
import pytest

from robocle.classifiers import CLASSIFIERS, classifier
from robocle.contract import CLASSIFIER_CHECKS
from robocle.contract.checking import WIDTH, stream, taught
from robocle.errors import FeatureError

# Every classifier with its defaults, and the options that change how it computes.
SPECS = [
    *CLASSIFIERS.names(),
    "slda:scatter=published,shrinkage=1e-4",
    "slda:covariance=blocks,blocks=3",
    "slda:covariance=blocks,blocks=3,shrinkage=0.1",
    "slda:shrinkage=1",
    "slda:score=cosine",
    "slda:score=cosine,covariance=blocks,blocks=3",
    "slda:shrinkage=stepped",
    "slda:shrinkage=stepped,score=cosine",
    "slda:shrinkage=stepped,score=cosine,covariance=blocks,blocks=3",
    "slda:keep=12",
    "slda:keep=12,shrinkage=stepped,score=cosine",
    "slda:keep=12,scatter=published",
    "slda:keep=0",
    "slda:keep=0,scatter=published,covariance=blocks,blocks=3",
    "snb:variant=published",
    "cbcl:variant=published,k=3,threshold=2,centroids=6",
    "sqda:shared=0",
    "sqda:shared=1",
    "icarl:buffer=20",
    "icarl:per_class=2",
    "icarl:per_class=2,classes=9,variant=published",
    "icarl:buffer=20,variant=published",
    "finetune:classes=9",
    "ridge:features=64",
    "klda:features=32",
]


@pytest.mark.no_cover
@pytest.mark.parametrize("check", CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_every_classifier_satisfies_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)


@pytest.mark.parametrize(
    "spec", ["ncm", "slda", "slda:shrinkage=1", "slda:covariance=blocks,blocks=3", "sqda", "snb"]
)
def test_one_sample_per_label_ranks_like_the_nearest_mean(spec: str) -> None:
    embeddings, _ = stream(4, seed=5)
    clf = taught(spec, (embeddings, list("abcd")))
    queries = stream(50, seed=6)[0]
    distances = ((queries[:, None] - embeddings[None]) ** 2).sum(axis=2)
    assert (clf.scores(queries).argmax(axis=1) == distances.argmin(axis=1)).all()


def test_a_sample_with_other_features_than_the_first_is_refused() -> None:
    clf = classifier("ncm").learn_one({"red": 1.0, "round": 0.0}, "brick")
    with pytest.raises(FeatureError, match="they differ in blue, round"):
        clf.learn_one({"red": 1.0, "blue": 0.0}, "sky")
    assert clf.labels == ("brick",)


@pytest.mark.parametrize("zeros", [WIDTH, WIDTH // 3], ids=["all", "one block"])
@pytest.mark.parametrize("spec", SPECS)
def test_the_first_embedding_may_be_zero(spec: str, zeros: int) -> None:
    embeddings, labels = stream(12, seed=7)
    embeddings[0, :zeros] = 0
    clf = classifier(spec)
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
        again = classifier(spec)
        again.restore(clf.state())
        found, expected = clf.scores(embeddings), again.scores(embeddings)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
