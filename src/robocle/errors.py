"""Errors: what robocle raises when its user can do something about it.

    RobocleError
    ├── ImageError           a picture that cannot be used
    ├── QualityError         a picture that can be read, but is too poor to learn from
    ├── LabelError           a label that cannot be used, or that was never taught
    ├── FeatureError         a feature map or vector of the wrong shape, or not finite
    ├── NothingTaughtError   asked to recognise before anything was taught
    ├── NothingToUndoError   asked to undo before anything was done
    ├── InexactError         asked to merge what does not add up
    ├── SpecError            an unknown part name or option
    ├── BackboneError        a backbone that cannot be built or run
    ├── DataError            a data set that is not there, or not laid out as it should be
    ├── StateError           a state file that cannot be read or does not fit
    └── MissingExtraError    an optional dependency is not installed

Every message is one line: what happened, with which value, and what to do. The command line prints
it and exits with 1; anything that is not a RobocleError is a bug and shows its traceback.
"""


class RobocleError(Exception):
    """The root of all errors that a user of robocle can act on."""


class ImageError(RobocleError):
    """A picture that cannot be used: unreadable, too small, too large, animated."""


class QualityError(RobocleError):
    """A picture that can be read, but is too poor to learn from: dark, blurred, taken twice."""


class LabelError(RobocleError):
    """A label that cannot be used, or that was never taught."""


class FeatureError(RobocleError):
    """A feature map or vector of the wrong shape, or with values that are not finite."""


class NothingTaughtError(RobocleError):
    """Asked to recognise before anything was taught."""

    def __init__(self) -> None:
        super().__init__("nothing has been taught yet: teach at least one picture first")


class NothingToUndoError(RobocleError):
    """Asked to undo when nothing is left that can be taken back."""

    def __init__(self) -> None:
        super().__init__(
            "nothing to undo: only the last operations can be taken back, none before a merge"
        )


class InexactError(RobocleError):
    """Asked to merge or undo where the result could not equal teaching it all in one place."""


class SpecError(RobocleError):
    """An unknown part name or option, or an option with an impossible value."""


class BackboneError(RobocleError):
    """A backbone that cannot be built or run."""


class DataError(RobocleError):
    """A data set that is not there, not laid out as it should be, or too small for its use."""


class StateError(RobocleError):
    """A state file that cannot be read, or that belongs to another backbone or version."""


class MissingExtraError(RobocleError):
    """An optional dependency is not installed.

    >>> raise MissingExtraError("bench", "the report needs matplotlib")
    Traceback (most recent call last):
    robocle.errors.MissingExtraError: the report needs matplotlib: pip install 'robocle[bench]'
    """

    def __init__(self, extra: str, why: str) -> None:
        super().__init__(f"{why}: pip install 'robocle[{extra}]'")
        self.extra = extra
