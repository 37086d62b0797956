"""The limit on BLAS threads is removed afterwards, even if several threads use it at once.

Forks run in processes of their own: OpenBLAS may not return from one while other threads use it.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from robocle._internal import blas
from robocle._internal.blas import one_blas_thread


def threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_there_is_one_thread_inside_and_the_previous_number_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            with one_blas_thread():
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert set(threads()) == {2}


def test_overlapping_threads_restore_the_previous_number() -> None:
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second() -> None:
        first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            first_out.wait(10)

    with threadpool_limits(2, user_api="blas"):
        workers = [threading.Thread(target=work) for work in (first, second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert set(threads()) == {2}


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Two BLAS threads, which no thread of this process has set by threadpoolctl alone."""
    before = [(library, library.get_num_threads()) for library in blas._libraries()]
    for library, _ in before:
        blas._set_threads(library, 2)
    yield
    for library, number in before:
        blas._set_threads(library, number)


def in_thread(work: Callable[[], None]) -> None:
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


@pytest.mark.usefixtures("two_threads")
def test_a_thread_is_limited_after_another_one_was() -> None:
    inside: list[int] = []

    def work() -> None:
        with one_blas_thread():
            inside.extend(threads())

    with one_blas_thread():
        assert set(threads()) == {1}
    in_thread(work)
    assert set(inside) == {1}
    assert set(threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_the_last_thread_to_leave_restores_the_number_that_another_one_has_limited() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    worker = threading.Thread(target=work)
    with one_blas_thread():
        worker.start()
        entered.wait(10)
    assert set(threads()) == {1}
    leave.set()
    worker.join()
    assert set(threads()) == {2}


def test_a_context_that_the_collector_ends_in_the_middle_of_another_does_not_wait_for_itself() -> (
    None
):
    interrupted = one_blas_thread()
    interrupted.__enter__()

    def work() -> None:
        with blas._lock:  # which is held while the number of threads is set
            interrupted.__exit__(None, None, None)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(10)
    assert not worker.is_alive()


@pytest.mark.usefixtures("two_threads")
def test_an_interrupt_while_the_number_is_restored_does_not_lose_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(library: object, number: int) -> None:
        raise KeyboardInterrupt

    context = one_blas_thread()
    context.__enter__()
    with monkeypatch.context() as patch:
        patch.setattr(blas, "_set_threads", interrupt)
        with pytest.raises(KeyboardInterrupt):
            context.__exit__(None, None, None)
    with one_blas_thread():
        assert set(threads()) == {1}
    assert set(threads()) == {2}


FORK_INSIDE = """
import os
from threadpoolctl import threadpool_info
from robocle._internal import blas

def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

for library in blas._libraries():
    blas._set_threads(library, 2)
with blas.one_blas_thread():
    child = os.fork()
outside = threads()
with blas.one_blas_thread():
    inside = threads()
if child:
    assert os.waitpid(child, 0)[1] == 0
print("parent" if child else "child", outside, inside)
"""


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
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        pytest.param(FORK_INSIDE, ["child {2} {1}", "parent {2} {1}"], id="restores the number"),
        pytest.param(FORK_DURING_AN_IMPORT, ["0"], id="waits for the import of another thread"),
    ],
)
def test_a_process_that_was_forked(program: str, printed: list[str]) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == printed
