"""Parallel work: every job once, with its outcome, whatever happens to the processes."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from robocle.errors import RobocleError
from robocle.evaluation import parallel
from robocle.evaluation.parallel import Workers

JOBS = list(range(300))


def double(job: int) -> int:
    return 2 * job


def wait_a_little(job: int) -> int:
    time.sleep(0.1)
    return 2 * job


def thread(job: int) -> str:
    return threading.current_thread().name


def ignores_ctrl_c(job: int) -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def die_once(job: int, flag: Path) -> int:
    """Kill the process of the first job that gets here."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return 2 * job
    os._exit(1)


def die(job: int) -> int:
    os._exit(1)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_job_is_done_once(jobs: int) -> None:
    found = list(Workers(jobs).run(double, JOBS))
    assert Counter(found) == Counter((job, 2 * job) for job in JOBS)


def test_one_process_does_the_jobs_in_order() -> None:
    assert [job for job, _ in Workers().run(double, JOBS)] == JOBS


@pytest.mark.slow
def test_ctrl_c_is_for_the_process_that_started_the_others() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert set(dict(Workers(2).run(ignores_ctrl_c, JOBS[:20])).values()) == {True}
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_no_outcome_is_lost_when_a_process_dies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = partial(die_once, flag=tmp_path / "died")
    found = list(Workers(jobs=2).run(work, JOBS[:20]))
    assert sorted(found) == [(job, 2 * job) for job in JOBS[:20]]
    assert "a worker died" in caplog.text


@pytest.mark.slow
def test_processes_that_always_die_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(RobocleError, match=r"workers died 3 times .* fewer --jobs"):
        list(Workers(jobs=2).run(die, JOBS[:4]))


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A Dask scheduler with workers of one slot, which are threads of this process."""
    from distributed import LocalCluster

    made: Any = LocalCluster
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    with made(n_workers=workers, **options) as running:
        yield running


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PATIENCE", 0.5)


@pytest.mark.slow
@pytest.mark.usefixtures("no_patience")
def test_a_cluster_without_workers_is_an_error_that_says_how_to_start_one() -> None:
    with (
        cluster(0) as running,
        pytest.raises(RobocleError, match=r"has no workers, and 4 jobs left: .*`dask worker "),
    ):
        list(Workers(dask=running.scheduler_address).run(double, JOBS[:4]))


@pytest.mark.slow
@pytest.mark.usefixtures("no_patience")
def test_a_cluster_that_loses_all_workers_is_an_error_of_one_line() -> None:
    outcomes = []

    def stop_the_worker_after_one_job(running: Any) -> None:
        for outcome in Workers(dask=running.scheduler_address).run(wait_a_little, JOBS[:40]):
            outcomes.append(outcome)
            running.scale(0)

    with cluster(1) as running:
        with pytest.raises(RobocleError, match=r"has no workers, and \d+ jobs left"):
            stop_the_worker_after_one_job(running)
        assert 1 <= len(outcomes) < 40


@pytest.mark.slow
def test_one_slot_of_a_cluster_does_all_jobs_there_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with cluster(1) as running:
        found = dict(Workers(dask=running.scheduler_address).run(thread, JOBS[:5]))
    assert len(found) == 5
    assert threading.main_thread().name not in found.values()
    assert "has one slot: jobs run one after another" in caplog.text


@pytest.mark.slow
def test_a_cluster_without_jobs_is_not_asked() -> None:
    assert list(Workers(dask="tcp://127.0.0.1:9").run(double, [])) == []
