"""The parameters of the node: names, defaults, descriptions and limits; declared and checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from robocle.errors import SpecError
from robocle.images.gate import POOR
from robocle.images.quality import Poor
from robocle.profiles import ProfileName
from robocle.recognition import DEFAULT_RATE, NEVER_UNKNOWN, SMALLEST_RATE, require_rate
from robocle.recognition.temporal_filter import TemporalFilter
from robocle.ros import required
from robocle.spec import require_between, require_choice

Value = str | bool | int | float | list[int]


@dataclass(frozen=True)
class Parameter:
    """One parameter of the node."""

    default: Value
    description: str
    limits: tuple[float, float] | None = None
    live: bool = False
    """Whether a change takes effect at once. Others are read when the node is configured."""


PARAMETERS: Mapping[str, Parameter] = {
    "state": Parameter("", "The state file. It is created if it does not exist."),
    "transport": Parameter(
        "raw", "raw subscribes to `image`, compressed to `image/compressed` (JPEG or PNG)."
    ),
    "reliability": Parameter(
        "best_effort", "The reliability of the subscriptions: best_effort or reliable."
    ),
    "boxes": Parameter(
        False, "Subscribe to the `boxes` of a detector, and label each box instead of the image."
    ),
    "tolerance": Parameter(
        0.02, "By how many seconds the stamps of boxes and image may differ.", (0.0, 10.0)
    ),
    "profile": Parameter("fast", "The profile of a new state: fast, accurate or large."),
    "poor": Parameter(
        "warn", "What to do about a poor picture: warn, skip, refuse or accept.", live=True
    ),
    "false_accept": Parameter(
        DEFAULT_RATE,
        "The fraction of unrelated objects that may be taken for a taught one; 1: never unknown.",
        (SMALLEST_RATE, NEVER_UNKNOWN),
        live=True,
    ),
    "filter": Parameter(
        True, "Filter the predictions over time, which keeps the label steady.", live=True
    ),
    "filter_frames": Parameter(
        TemporalFilter.frames,
        "How many frames count as much as one independent picture.",
        (1.0, 1000.0),
        live=True,
    ),
    "filter_sure": Parameter(
        TemporalFilter.sure,
        "The posterior probability that a new announcement needs.",
        (0.5, 0.999),
        live=True,
    ),
    "roi": Parameter(
        [0, 0, 0, 0],
        "The region of the image to use: x, y, width, height in pixels. Width 0: all of it.",
        live=True,
    ),
    "max_rate": Parameter(
        0.0, "Images recognised per second, at most; 0 for no limit.", (0.0, 1000.0), live=True
    ),
    "teach_timeout": Parameter(
        30.0, "Seconds that a request to teach waits for its frames.", (0.1, 3600.0), live=True
    ),
}


@dataclass(frozen=True)
class Settings:
    """The values of the parameters, checked."""

    state: str
    transport: Literal["raw", "compressed"]
    reliability: Literal["best_effort", "reliable"]
    boxes: bool
    tolerance: float
    profile: ProfileName
    poor: Poor
    false_accept: float
    filter: bool
    filter_frames: float
    filter_sure: float
    roi: tuple[int, int, int, int] | None
    max_rate: float
    teach_timeout: float

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
        given = {name: values.get(name, known.default) for name, known in PARAMETERS.items()}
        require_choice("transport", given["transport"], ("raw", "compressed"))
        require_choice("reliability", given["reliability"], ("best_effort", "reliable"))
        require_choice("poor", given["poor"], POOR)
        for name, known in PARAMETERS.items():
            if known.limits is not None:
                require_between(name, given[name], *known.limits)
        require_rate(given["false_accept"])
        return cls(**{**given, "roi": _roi(given["roi"])})

    def changed(self, values: Mapping[str, Any]) -> "Settings":
        """Return the settings with other values of some parameters.

        Raises:
            SpecError: A value is out of range or is not one of the choices.
        """
        return Settings.of({**vars(self), "roi": self.roi or [0, 0, 0, 0], **values})

    def steady(self) -> TemporalFilter | None:
        """Return a new temporal filter, if predictions are to be filtered."""
        return TemporalFilter(self.filter_frames, self.filter_sure) if self.filter else None


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


class DeclaredParameters:
    """Declares the parameters of a node.

    Args:
        node: The node of rclpy.
        apply: Called with the new values of parameters that take effect at once.
    """

    def __init__(self, node: Any, apply: Callable[[dict[str, Any]], None]) -> None:
        self._node = node
        self._apply = apply
        self._interfaces = required("rcl_interfaces.msg")
        for name, parameter in PARAMETERS.items():
            descriptor = _descriptor(self._interfaces, parameter)
            node.declare_parameter(name, parameter.default, descriptor)
        node.add_on_set_parameters_callback(self._set)

    def values(self) -> dict[str, Any]:
        """Return the present values by name."""
        return {name: self._node.get_parameter(name).value for name in PARAMETERS}

    def _set(self, parameters: Any) -> Any:
        result = self._interfaces.SetParametersResult
        given = {each.name: each.value for each in parameters if each.name in PARAMETERS}
        try:
            Settings.of(self.values() | given)
        except SpecError as error:
            return result(successful=False, reason=str(error))
        live = {name: value for name, value in given.items() if PARAMETERS[name].live}
        if live:
            self._apply(live)
        return result(successful=True)


def _descriptor(interfaces: ModuleType, parameter: Parameter) -> Any:
    descriptor = interfaces.ParameterDescriptor(description=parameter.description)
    if parameter.limits is not None:
        low, high = parameter.limits
        limits = interfaces.FloatingPointRange(from_value=low, to_value=high)
        descriptor.floating_point_range = [limits]
    return descriptor
