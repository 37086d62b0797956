"""Errors: what robocle raises when its user can do something about it.

    RobocleError
    ├── ImageError           (ValueError)    a picture that cannot be used
    ├── QualityError         (ValueError)    a readable picture that is too poor to learn from
    ├── LabelError           (ValueError)    a label that cannot be used
    │   └── UnknownLabelError  (KeyError)    a label that was never taught
    ├── UnknownSampleError   (KeyError)      the id of a sample that does not exist
    ├── FeatureError         (ValueError)    a feature map or embedding of the wrong shape
    ├── NothingTaughtError   (RuntimeError)  a prediction before anything was taught
    ├── NothingToUndoError   (RuntimeError)  an undo or a redo when there is no such step
    ├── NotLastStepError     (RuntimeError)  an undo of a step that is not the last one
    ├── InexactError         (ValueError)    a merge that could not be exact
    ├── SpecError            (ValueError)    an unknown part name or option
    ├── BackboneError        (RuntimeError)  a backbone that cannot be built or run
    ├── FinderError          (RuntimeError)  a finder that cannot be loaded or run
    ├── DataError            (ValueError)    a data set that is missing or has another layout
    ├── BrokerError          (ValueError)    the address of an MQTT broker that cannot be used
    ├── FleetError           (RuntimeError)  a fleet whose server or messages cannot be used
    ├── CameraError          (RuntimeError)  a camera or video that cannot be read, or has ended
    ├── RosError             (RuntimeError)  ROS 2 is not set up, or the node cannot start
    ├── StateError           (ValueError)    a state file that is damaged or does not fit
    │   └── StateAccessError   (OSError)     a state file that cannot be read or written
    │       └── StateLockedError             a state file that stays locked by another program
    └── MissingExtraError    (ImportError)   an optional dependency that is not installed

Each also derives from the built-in exception in parentheses, so that `except ValueError` works as
expected. Every message is one line: what happened, with which value, and what to do. The command
line prints it and exits with 1; anything that is not a RobocleError is a bug and shows its
traceback.
"""

import os
from pathlib import Path
from typing import Any, Literal, Self


class RobocleError(Exception):
    """The root of all errors that a user of robocle can act on."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        # From Python 3.14 on, an OSError takes its arguments only when it is created.
        self.args = args

    def __str__(self) -> str:
        # KeyError and OSError would add quotes or an error number.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        # An error crosses process boundaries with its message and its data.
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(
    cls: type[RobocleError], args: tuple[Any, ...], data: dict[str, Any]
) -> RobocleError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(data)
    return error


class ImageError(RobocleError, ValueError):
    """A picture that cannot be used: unreadable, too small, too large, animated."""


class QualityError(RobocleError, ValueError):
    """A picture that can be read, but is too poor to learn from: dark, blurred, taken twice.

    Attributes:
        complaints: What is wrong with it, as `robocle.images.quality.Complaint` values.
    """

    def __init__(self, message: str, complaints: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.complaints = complaints


class LabelError(RobocleError, ValueError):
    """A label that cannot be used.

    Attributes:
        label: The label as it was given.
    """

    def __init__(self, message: str, label: object = None) -> None:
        super().__init__(message)
        self.label = label


class UnknownLabelError(LabelError, KeyError):
    """A label that was never taught."""


class UnknownSampleError(RobocleError, KeyError):
    """The id of a sample that does not exist, or the start of several ids."""

    def __init__(self, id: object, found: int = 0) -> None:
        problem = f"{found} samples begin with" if found else "there is no sample"
        advice = "`robocle samples STATE` lists the ids"
        if not isinstance(id, str):
            advice = "give ids one by one, such as `learner.samples[0].id`"
        super().__init__(f"{problem} {id!r:.100}: {advice}")
        self.id = id


class FeatureError(RobocleError, ValueError):
    """A feature map or embedding of the wrong shape, or with values that are not finite."""


class NothingTaughtError(RobocleError, RuntimeError):
    """A prediction was requested before anything was taught."""

    def __init__(self) -> None:
        super().__init__("nothing has been taught yet: teach at least one picture first")


class NothingToUndoError(RobocleError, RuntimeError):
    """An undo or a redo was requested when there is no such step."""

    def __init__(self, verb: Literal["undo", "redo"] = "undo", step: str = "") -> None:
        reason = "no step was undone last" if verb == "redo" else "no earlier step is kept"
        found = f"there is no step {step!r} to {verb}: `robocle inspect --json` lists the ids"
        super().__init__(found if step else f"nothing to {verb}: {reason}")


class NotLastStepError(RobocleError, RuntimeError):
    """An undo or a redo of a step that is not the next one: another program changed the state.

    Attributes:
        description: What the step did that is in the way.
    """

    def __init__(
        self, description: str, verb: Literal["undo", "redo"] = "undo", reason: str = ""
    ) -> None:
        reason = reason or (
            f"the next step to {verb} is now {description}, which somebody else may have done"
        )
        super().__init__(f"nothing was changed: {reason}")
        self.description = description


class InexactError(RobocleError, ValueError):
    """A merge whose result could not equal teaching everything in one place."""


class SpecError(RobocleError, ValueError):
    """An unknown part name or option, or an option with an invalid value."""


class BackboneError(RobocleError, RuntimeError):
    """A backbone that cannot be built or run."""


class FinderError(RobocleError, RuntimeError):
    """A finder that cannot be loaded or run."""


class DataError(RobocleError, ValueError):
    """A data set that is missing, has another layout than expected, or is too small for its use."""


class BrokerError(RobocleError, ValueError):
    """The address, the certificate or the name for an MQTT broker that cannot be used."""


class FleetError(RobocleError, RuntimeError):
    """A fleet that cannot be joined, or a message of it that is refused."""


class CameraError(RobocleError, RuntimeError):
    """A camera or a video that cannot be opened, or that has ended.

    Attributes:
        ended: Whether a video file came to its end.
    """

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


class RosError(RobocleError, RuntimeError):
    """ROS 2 or robocle's interface package is not set up, or the node cannot start."""


class StateError(RobocleError, ValueError):
    """A state file that is damaged, or that belongs to another backbone or version."""


class StateAccessError(StateError, OSError):
    """A state file that cannot be read or written.

    Attributes:
        path: The file.
        reason: What the operating system said, or that the folder does not exist.
    """

    def __new__(cls, *_: object) -> Self:
        # Python would look up ValueError.__new__, which cannot make an OSError.
        return OSError.__new__(cls)

    def __init__(self, action: str, path: Path, reason: object) -> None:
        super().__init__(f"cannot {action} {path}: {reason}")
        self.path = path
        self.reason = str(reason)

    @classmethod
    def of(cls, action: str, path: Path, error: OSError) -> "StateAccessError":
        """Return the error that stands for a failed system call.

        >>> error = FileNotFoundError(2, "No such file or directory")
        >>> str(StateAccessError.of("read", Path("home.robocle"), error))
        'cannot read home.robocle: No such file or directory'
        """
        if isinstance(error, FileNotFoundError) and not os.path.isdir(os.path.dirname(path) or "."):
            return cls(action, path, f"there is no folder {os.path.dirname(path)}")
        return cls(action, path, error.strerror or error)


class StateLockedError(StateAccessError):
    """A state file that another program has kept locked for too long."""

    def __init__(self, path: Path) -> None:
        RobocleError.__init__(
            self,
            f"{path} is locked: another program has been writing it for too long; try again",
        )
        self.path = path
        self.reason = "locked"


class MissingExtraError(RobocleError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: The extra to install.

    >>> raise MissingExtraError("bench", "the report needs matplotlib")
    Traceback (most recent call last):
    robocle.errors.MissingExtraError: the report needs matplotlib: pip install 'robocle[bench]'
    """

    def __init__(self, extra: str, why: str) -> None:
        super().__init__(f"{why}: pip install 'robocle[{extra}]'")
        self.extra = extra
