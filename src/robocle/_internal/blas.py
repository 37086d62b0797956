"""BLAS and LAPACK, and a limit of one BLAS thread, for small matrices.

With two threads, each product waits for the second thread to wake up. While other programs are
busy, as on any robot, a product that takes 0.1 ms then takes 16 ms.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from threadpoolctl import ThreadpoolController

_importing = threading.RLock()
# A process that is forked while another thread imports a module would wait for this module for
# ever: the other thread is not in it. So a fork waits until imports are complete.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire,
        after_in_parent=_importing.release,
        after_in_child=_importing.release,
    )


def imported(name: str) -> ModuleType:
    """Return a module, which is imported at the first call.

    >>> imported("math").pi
    3.14...
    """
    with _importing:
        return import_module(name)


# Reentrant: while it is held, the collector may end the context of a thread that was interrupted.
_lock = threading.RLock()
_inside = 0
_before: list[tuple[Any, int]] = []  # the libraries that had more threads, and how many


def _after_fork() -> None:
    """Begin again in a forked process: the other threads of its parent are not in it."""
    global _lock, _inside
    _lock, _inside = threading.RLock(), 0


if hasattr(os, "register_at_fork"):
    # No other thread may be setting a number meanwhile: threadpoolctl has a lock of its own.
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_after_fork,
    )


class _Routines:
    """A module of scipy.linalg, imported at first use: it takes as long as the rest of robocle."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, routine: str) -> Any:
        found = getattr(imported(f"scipy.linalg.{self._name}"), routine)
        setattr(self, routine, found)
        return found


blas = _Routines("blas")
lapack = _Routines("lapack")


@cache
def _libraries() -> list[Any]:
    """Return the BLAS libraries of numpy and scipy."""
    imported("scipy.linalg")  # loads its BLAS, so that the controller finds it
    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit numpy and scipy to one BLAS thread inside a `with` block.

    The limit applies to the whole process, so the program's other threads have it too. Blocks may
    be nested and may overlap across threads: the last one to end restores the previous number.

    Example:
        >>> import numpy as np
        >>> with one_blas_thread():
        ...     np.ones((2, 2)) @ np.ones((2, 2))
        array([[2., 2.],
               [2., 2.]])
    """
    global _inside
    entered = False
    try:
        with _lock:
            if _inside == 0:
                _limit_threads()
            _inside += 1
            entered = True
        yield
    finally:
        with _lock:
            if entered and _inside:  # it is 0 after a fork inside the block
                _inside -= 1
            if _inside == 0:
                _restore_threads()


def _limit_threads() -> None:
    # Much less work than `ThreadpoolController.limit`, which also describes each library.
    for library in _libraries():
        if (threads := library.get_num_threads()) != 1:
            _before.append((library, threads))
            _set_threads(library, 1)


def _restore_threads() -> None:
    while _before:
        _set_threads(*_before[-1])
        _before.pop()  # not before: an interrupt must not lose the number


def _set_threads(library: Any, threads: int) -> None:
    """Set the number of threads, from any thread.

    Some versions of threadpoolctl ignore all threads but the first one that has set a number, as
    long as it lives. Here, a lock takes care of that.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(threads)
    if release is not None:
        release(force=True)
