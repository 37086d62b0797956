"""A fork waits for imports at first use, so that the forked process does not wait forever."""

import os
import subprocess
import sys

import pytest

FORK_DURING_AN_IMPORT = """
import os, signal, sys, threading, time
from robocle._internal.blas import imported

begun = threading.Event()

class ColdDisk:
    def find_spec(self, name, path=None, target=None):
        if name == "robocle.recognition.decision":
            begun.set()
            time.sleep(0.5)

sys.meta_path.insert(0, ColdDisk())
other = threading.Thread(target=imported, args=["robocle.recognition.meaning"])
other.start()
assert begun.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(10)
    import robocle.recognition.meaning
    os._exit(0)
other.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_is_forked_during_an_import_of_another_thread_can_import_it() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK_DURING_AN_IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"
