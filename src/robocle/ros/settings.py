"""The parameters of the node: their names, defaults, descriptions and limits, and their checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import ModuleType
from typing import Any, Literal

from robocle.errors import RosError, SpecError
from robocle.images.gate import POOR
from robocle.images.quality import Poor
from robocle.profiles import ProfileName
from robocle.recognition import DEFAULT_RATE, NEVER_UNKNOWN, SMALLEST_RATE, require_rate
from robocle.recognition.temporal_filter import TemporalFilter
from robocle.ros import required
from robocle.spec import require_between, require_choice


@dataclass(frozen=True)
class Parameter:
    """One parameter of the node."""

    default: str | bool | float | list[int]
    description: str
    limits: tuple[float, float] | None = None
    live: bool = False
    """Whether a change takes effect at once. Others are read when the node is configured."""


def _parameter(
    default: Any, description: str, limits: tuple[float, float] | None = None, live: bool = False
) -> Any:
    return field(metadata={"parameter": Parameter(default, description, limits, live)})


@dataclass(frozen=True)
class Settings:
    """The values of the parameters, checked."""

    state: str = _parameter("", "The state file. It is created if it does not exist.")
    image_transport: Literal["raw", "compressed"] = _parameter(
        "raw", "How the images are sent: raw, or compressed (JPEG or PNG in <image>/compressed)."
    )
    reliability: Literal["best_effort", "reliable"] = _parameter(
        "best_effort", "The reliability of the subscriptions: best_effort or reliable."
    )
    boxes: bool = _parameter(
        False, "Subscribe to the `boxes` of a detector, and label each box instead of the image."
    )
    finder: str = _parameter(
        "", "The finder of boxes in the image, such as onnx:picodet.onnx; empty for none."
    )
    tolerance: float = _parameter(
        0.02, "By how many seconds the stamps of boxes and image may differ.", (0.0, 10.0)
    )
    profile: ProfileName = _parameter(  # noqa: RUF009
        "fast", "The profile of a new state: fast, accurate or large."
    )
    poor: Poor = _parameter(  # noqa: RUF009
        "warn", "What to do about a poor picture: warn, skip, refuse or accept.", live=True
    )
    false_accept: float = _parameter(
        DEFAULT_RATE,
        "The fraction of unrelated objects that may be mistaken for taught ones; 1: never unknown.",
        (SMALLEST_RATE, NEVER_UNKNOWN),
        live=True,
    )
    filter: bool = _parameter(
        True, "Filter the predictions over time, which keeps the label steady.", live=True
    )
    filter_frames: float = _parameter(
        TemporalFilter.frames,
        "How many frames count as much as one independent picture.",
        (1.0, 1000.0),
        live=True,
    )
    filter_sure: float = _parameter(
        TemporalFilter.sure,
        "The posterior probability that a new announcement needs.",
        (0.5, 0.999),
        live=True,
    )
    roi: tuple[int, int, int, int] | None = _parameter(
        [0, 0, 0, 0],
        "The region of the image to use: x, y, width, height in pixels. Width 0: all of it.",
        live=True,
    )
    max_rate: float = _parameter(
        0.0, "Images recognised per second, at most; 0 for no limit.", (0.0, 1000.0), live=True
    )
    teach_timeout: float = _parameter(
        30.0, "Seconds that a request to teach waits for its frames.", (0.1, 3600.0), live=True
    )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings of parameter values.

        Args:
            values: The values by name; defaults stand in for those that are missing.

        Raises:
            SpecError: A value is out of range or is not one of the choices.

        Example:
            >>> Settings.of({"state": "home.robocle", "roi": [0, 0, 64, 48]}).roi
            (0, 0, 64, 48)
        """
        given = {
            name: _typed(name, values.get(name, known.default))
            for name, known in PARAMETERS.items()
        }
        require_choice("image_transport", given["image_transport"], ("raw", "compressed"))
        require_choice("reliability", given["reliability"], ("best_effort", "reliable"))
        require_choice("poor", given["poor"], POOR)
        for name, known in PARAMETERS.items():
            if known.limits is not None:
                require_between(name, given[name], *known.limits)
        require_rate(given["false_accept"])
        if given["boxes"] and given["finder"]:
            raise SpecError("boxes and finder both say where to look: set only one of them")
        return cls(**{**given, "roi": _roi(given["roi"])})

    def steady(self) -> TemporalFilter | None:
        """Return a new temporal filter, if predictions are to be filtered."""
        return TemporalFilter(self.filter_frames, self.filter_sure) if self.filter else None


PARAMETERS: Mapping[str, Parameter] = {
    each.name: each.metadata["parameter"] for each in fields(Settings)
}


def _typed(name: str, value: Any) -> Any:
    """Return a value with the type of its parameter: a whole number may stand for a decimal one.

    Raises:
        SpecError: It has another type.
    """
    default = PARAMETERS[name].default
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, float) and not isinstance(value, float):
        raise SpecError(f"{name}={value!r} is not a number: give one such as {default}")
    return value


def _roi(numbers: Any) -> tuple[int, int, int, int] | None:
    try:
        x, y, width, height = (int(number) for number in numbers)
    except (TypeError, ValueError) as error:
        raise SpecError(f"roi must be [x, y, width, height] in pixels, not {numbers}") from error
    if width == 0 or height == 0:
        return None
    if min(x, y, width, height) < 0:
        raise SpecError(f"roi must have no negative numbers, not {list(numbers)}")
    return x, y, width, height


def declare_parameters(
    node: Any, in_use: Callable[[], Settings | None], apply: Callable[[Settings], None]
) -> None:
    """Declare the parameters of a node.

    Args:
        node: The node of rclpy.
        in_use: Returns the settings that the node was configured with, if it is configured.
        apply: Called with the new settings when some that take effect at once have changed.

    Raises:
        RosError: A value that was given at the start has the wrong type.
    """
    interfaces = required("rcl_interfaces.msg")

    def changed(parameters: Any) -> Any:
        given = {each.name: each.value for each in parameters if each.name in PARAMETERS}
        try:
            after, before = Settings.of(parameter_values(node) | given), in_use()
            if before is not None:
                _require_live(before, after)
                apply(after)
        except SpecError as error:
            return interfaces.SetParametersResult(successful=False, reason=str(error))
        return interfaces.SetParametersResult(successful=True)

    for name, parameter in PARAMETERS.items():
        try:
            node.declare_parameter(name, parameter.default, _descriptor(interfaces, parameter))
        except required("rclpy.exceptions").InvalidParameterTypeException as error:
            raise RosError(f"the parameter {name} has the wrong type: {error}") from error
    node.add_on_set_parameters_callback(changed)


def parameter_values(node: Any) -> dict[str, Any]:
    """Return the present values of the parameters by name."""
    return {name: node.get_parameter(name).value for name in PARAMETERS}


def _require_live(before: Settings, after: Settings) -> None:
    for name, parameter in PARAMETERS.items():
        if not parameter.live and getattr(before, name) != getattr(after, name):
            raise SpecError(
                f"{name} is read when the node is configured: deactivate it and clean it up first"
            )


def _descriptor(interfaces: ModuleType, parameter: Parameter) -> Any:
    is_number = isinstance(parameter.default, float)
    # The type of a number is not fixed, so that 5 may be written for 5.0.
    descriptor = interfaces.ParameterDescriptor(
        description=parameter.description, dynamic_typing=is_number
    )
    if parameter.limits is not None:
        low, high = parameter.limits
        limits = interfaces.FloatingPointRange(from_value=low, to_value=high)
        descriptor.floating_point_range = [limits]
    return descriptor
