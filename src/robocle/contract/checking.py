"""How a check reports a broken rule: AssertionError with a sentence, also under `python -O`."""

from collections.abc import Callable

from robocle.errors import RobocleError


def require(kept: bool, rule: str) -> None:
    """Raise AssertionError with the rule if it is not kept."""
    if not kept:
        raise AssertionError(rule)


def require_raises(
    error: type[RobocleError], case: str, call: Callable[..., object], *args: object
) -> None:
    """Require that call(*args) raises the given error, with a message of one line."""
    try:
        call(*args)
    except error as raised:
        message = str(raised)
        require(
            bool(message) and message.splitlines() == [message],
            f"{case}: the message must be one line, not {message!r}",
        )
    except Exception as other:
        raise AssertionError(f"{case} must raise {error.__name__}, not {other!r}") from other
    else:
        raise AssertionError(f"{case} must raise {error.__name__}, but nothing was raised")
