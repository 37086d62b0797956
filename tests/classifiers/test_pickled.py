"""Classifiers that were pickled, also by joblib, which maps large arrays read-only."""

from pathlib import Path

import joblib
import numpy as np
import pytest

from robocle.classifiers import StreamingClassifier, classifier

WIDTH = 48
DEFAULT = "slda:shrinkage=stepped,score=cosine"


def taught(spec: str, samples: int) -> StreamingClassifier:
    rng, clf = np.random.default_rng(0), classifier(spec)
    for number in range(samples):
        clf.learn(rng.normal(size=WIDTH).astype(np.float32), f"object {number % 5}")
    return clf


@pytest.mark.parametrize("predicts", [False, True])
@pytest.mark.parametrize("samples", [12, 300])
@pytest.mark.parametrize(
    "spec", ["ncm", "slda", DEFAULT, f"{DEFAULT},keep=8", "slda:scatter=published"]
)
def test_a_classifier_that_was_mapped_from_a_file_learns_on(
    spec: str, samples: int, predicts: bool, tmp_path: Path
) -> None:
    original, queries = taught(spec, samples), np.eye(WIDTH)[:6]
    if predicts:
        original.scores(queries)
    joblib.dump(original, tmp_path / "classifier")
    mapped = joblib.load(tmp_path / "classifier", mmap_mode="r")
    rng = np.random.default_rng(1)
    for number in range(200):
        sample = rng.normal(size=WIDTH)
        for each in (original, mapped):
            each.learn(sample, f"object {number % 7}")
            each.scores(queries) if number % 50 == 0 else None
    expected = original.scores(queries)
    size = np.abs(expected).max()
    np.testing.assert_allclose(mapped.scores(queries), expected, rtol=0, atol=1e-6 * size)
