"""Every classifier of the paper against the formulas of its base code, sample by sample."""

import pytest

from parity import CLASSIFIER_CASES, ClassifierCase, agreement


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CLASSIFIER_CASES, ids=lambda case: case.method)
def test_scores_and_predictions_equal_those_of_the_base_code(
    case: ClassifierCase, seed: int
) -> None:
    found = agreement(case, seed)
    assert found.difference < 1e-9
    assert found.equal == found.compared
