"""Errors derive from the fitting built-in, carry data, and survive a trip between processes."""

import pickle
from pathlib import Path

import pytest

from robocle import errors
from robocle.errors import RobocleError

BUILT_INS = (ValueError, KeyError, OSError, RuntimeError, ImportError)
EXAMPLES = [
    errors.ImageError("the picture is empty"),
    errors.QualityError("too dark", ("a complaint",)),
    errors.LabelError("the label is empty", ""),
    errors.UnknownLabelError("'cup' was never taught", "cup"),
    errors.UnknownSampleError("1f3a"),
    errors.FeatureError("wrong shape"),
    errors.NothingTaughtError(),
    errors.NothingToUndoError(),
    errors.NotLastStepError("teaching 'mug'"),
    errors.InexactError("does not add up"),
    errors.SpecError("no such option"),
    errors.BackboneError("cannot run"),
    errors.DataError("no such folder"),
    errors.FinderError("cannot run"),
    errors.BrokerError("no such address"),
    errors.FleetError("no such fleet"),
    errors.CameraError("the video has ended", ended=True),
    errors.RosError("not set up"),
    errors.StateError("damaged"),
    errors.StateAccessError("write", Path("home.robocle"), "No space left on device"),
    errors.StateLockedError(Path("home.robocle")),
    errors.MissingExtraError("bench", "the report needs matplotlib"),
]


def test_the_examples_are_all_errors_there_are() -> None:
    found = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, RobocleError)
    }
    assert {type(error) for error in EXAMPLES} == found - {RobocleError}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_is_a_built_in_one_and_survives_pickling_with_its_message_and_data(
    error: RobocleError,
) -> None:
    assert isinstance(error, BUILT_INS)
    assert str(error) == error.args[0]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
