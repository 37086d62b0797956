"""The limit on BLAS threads is removed afterwards, even if several threads use it at once."""

import threading

from threadpoolctl import threadpool_info, threadpool_limits

from robocle.blas import one_blas_thread


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
