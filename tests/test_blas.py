"""The limit on BLAS threads is removed afterwards, even if several threads use it at once."""

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_was_forked_inside_restores_the_number_and_limits_it_again() -> None:
    # In a process of its own: OpenBLAS may not return from a fork while other threads use it.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK_INSIDE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["child {2} {1}", "parent {2} {1}"]
