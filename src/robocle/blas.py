"""One BLAS thread for small matrices.

With two, each product waits for a second thread to wake up; when other programs are busy, as on
any robot, a product of 0.1 ms then takes 16. The limit is the process's: while robocle calculates,
other threads of the program have it too, and the last one out puts the old number back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  (loads its BLAS, so that the controller finds it)
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which numpy and scipy calculate on one thread."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
