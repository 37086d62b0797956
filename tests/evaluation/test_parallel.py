"""Parallel work: every job once, with its outcome, whatever happens to the processes."""

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from robocle.errors import RobocleError
from robocle.evaluation.parallel import Workers

JOBS = list(range(300))


def double(job: int) -> int:
    return 2 * job


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


def test_no_jobs_have_no_outcomes() -> None:
    assert list(Workers(jobs=2).run(double, [])) == []


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
