"""Every pooling satisfies the contract."""

from collections.abc import Callable

import pytest

from robocle.contract import POOLING_CHECKS
from robocle.poolings import POOLINGS

SPECS = [
    *POOLINGS.names(),
    "mix:share=0.2",
    "lp:p=3",
    "lp:p=3,form=raw",
    "rap:top=1",
    "rap:top=100",
    "moments:r=1",
    "moments:r=8",
    "moments:r=5,form=standardised",
]


@pytest.mark.parametrize("check", POOLING_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_every_pooling_satisfies_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)
