"""One BLAS thread for small matrices.

With two, each product waits for a second thread to wake up; when other programs are busy, as on any
robot, a product of 0.1 ms then takes 16. Only robocle's own calculations are limited: what the
surrounding program does keeps its threads.
"""

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (loads its BLAS, so that the controller finds it)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which numpy and scipy calculate on one thread."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit
