"""Imports at first use. A fork waits until they are complete.

Without that, a process that is forked while another thread imports a module would wait for this
module forever: the other thread is not in it.
"""

import os
import threading
from importlib import import_module
from types import ModuleType

_lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def imported(name: str) -> ModuleType:
    """Return a module, which is imported at the first call.

    >>> imported("math").pi
    3.14...
    """
    with _lock:
        return import_module(name)
