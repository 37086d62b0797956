"""One number per label: an array that is read as a dict."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocle.label_numbers import LabelNumbers, built, numbers_of, read_as_dicts, unread_numbers


@read_as_dicts("sizes")
@dataclass(frozen=True)
class Measured:
    name: str
    sizes: dict[str, float]


def measured(labels: int = 3) -> Measured:
    numbers = LabelNumbers(
        tuple(f"object {row}" for row in range(labels)), np.arange(float(labels))
    )
    return built(Measured, name="shelf", sizes=numbers)


@given(st.lists(st.sampled_from([-2.0, -0.0, 0.0, 0.5, 7.0]), max_size=60), st.integers(-3, 70))
def test_the_best_labels_are_in_the_order_of_a_stable_sort(
    numbers: list[float], number: int
) -> None:
    labels = [str(row) for row in range(len(numbers))]
    found = LabelNumbers(tuple(labels), np.array(numbers))
    named = dict(zip(labels, numbers, strict=True))
    expected = sorted(labels, key=named.__getitem__, reverse=True)[:number]
    assert found.best(number) == [(label, named[label]) for label in expected]


def test_a_dict_and_its_numbers_hold_the_same() -> None:
    named = {"mug": 0.25, "pan": -3.0, "cup": 1e-300}
    found = LabelNumbers.of(named)
    assert (found.named(), found.labels) == (named, tuple(named))
    assert found.total() == pytest.approx(-2.75)


def test_no_labels_have_no_best_one_and_the_sum_zero() -> None:
    nothing = LabelNumbers.of({})
    assert (nothing.named(), nothing.best(3), nothing.total()) == ({}, [], 0.0)


def test_a_dict_is_built_when_it_is_first_read_and_then_stays() -> None:
    found = measured()
    assert "sizes" not in vars(found)
    assert found.sizes == {"object 0": 0.0, "object 1": 1.0, "object 2": 2.0}
    assert type(found.sizes) is dict
    assert found.sizes is found.sizes


def test_numbers_are_read_without_building_the_dict() -> None:
    found = measured()
    assert numbers_of(found, "sizes").total() == 3
    assert "sizes" not in vars(found)


def test_a_dict_that_a_program_has_changed_counts() -> None:
    found = measured()
    found.sizes["object 0"] = 10.0
    assert unread_numbers(found, "sizes") is None
    assert numbers_of(found, "sizes").best(1) == [("object 0", 10.0)]


def test_a_dict_that_is_given_is_the_field() -> None:
    given = {"mug": 1.0}
    assert Measured("shelf", given).sizes is given


def test_the_field_has_no_default_and_a_dataclass_may_inherit_it() -> None:
    @dataclass(frozen=True)
    class Placed(Measured):
        sizes: dict[str, float]
        place: str

    assert [each.name for each in fields(Placed)] == ["name", "sizes", "place"]
    assert Placed("shelf", {"mug": 1.0}, "kitchen").sizes == {"mug": 1.0}
    with pytest.raises(TypeError, match="sizes"):
        Measured("shelf")  # type: ignore[call-arg]
    assert not hasattr(Measured, "sizes")


def test_a_field_that_was_never_set_is_missing_as_any_other() -> None:
    with pytest.raises(AttributeError, match="'Measured' has no attribute 'sizes'"):
        _ = Measured.__new__(Measured).sizes


def test_threads_that_read_at_once_get_the_same_dict() -> None:
    interval, threads = sys.getswitchinterval(), 4
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(50):
                found, start = measured(300), Barrier(threads)

                def read(found: Measured = found, start: Barrier = start) -> dict[str, float]:
                    start.wait()
                    return found.sizes

                first, *others = [job.result() for job in [pool.submit(read) for _ in range(4)]]
                assert all(each is first for each in others)
    finally:
        sys.setswitchinterval(interval)
