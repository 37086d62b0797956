"""The parameters of the node, declared and checked."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from robocle.errors import SpecError
from robocle.ros.messages import required
from robocle.ros.settings import PARAMETERS, Parameter, Settings


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
