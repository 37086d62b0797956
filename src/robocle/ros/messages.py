"""The messages of the node, in and out.

Detections are messages of `vision_msgs` if that package is installed. Otherwise they are messages
of our own package with the same fields, so the rest of the code need not know.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from robocle.classifiers.labels import UNKNOWN
from robocle.errors import ImageError, RosError
from robocle.ros.health import Level
from robocle.ros.recogniser import Recogniser, Seen
from robocle.types import Prediction

ALTERNATIVES = 3
"""How many labels a box gets, the best first."""


def required(name: str) -> ModuleType:
    """Import a module of ROS 2.

    Raises:
        RosError: It is not installed, or the workspace is not sourced.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        advice = (
            "build ros/robocle_interfaces of the robocle repository with colcon, and source the "
            "workspace"
            if package == "robocle_interfaces"
            else "source the setup file of your ROS 2, such as /opt/ros/jazzy/setup.bash"
        )
        raise RosError(f"the node needs {package}, which cannot be imported: {advice}") from error


def vision_messages() -> ModuleType | None:
    """Return the messages of vision_msgs, if it is installed."""
    try:
        return import_module("vision_msgs.msg")
    except ImportError:
        return None


def prediction_message(header: Any, seen: Seen, version: int) -> Any:
    """Return what an image shows as a robocle_interfaces/Prediction."""
    return required("robocle_interfaces.msg").Prediction(
        header=header,
        verdict=seen.verdict,
        label=seen.label or "",
        nothing=seen.nothing,
        nearest=seen.nearest,
        sure=seen.sure,
        confidence=seen.confidence,
        unknown_probability=seen.unknown_probability,
        labels=list(seen.confidences),
        confidences=list(seen.confidences.values()),
        changed=seen.changed,
        version=version,
    )


def classification_message(vision: ModuleType, header: Any, seen: Seen) -> Any:
    """Return what an image shows as a vision_msgs/Classification, the best label first."""
    is_unknown = seen.verdict in ("unknown", "nothing")
    pairs = [(UNKNOWN, seen.unknown_probability)] if is_unknown else []
    pairs += list(seen.confidences.items())[:ALTERNATIVES]
    results = [vision.ObjectHypothesis(class_id=name, score=score) for name, score in pairs]
    return vision.Classification(header=header, results=results)


def boxes_of(detections: Any) -> list[tuple[float, float, float, float]]:
    """Return the boxes of a Detection2DArray as (x, y, width, height)."""
    found = []
    for each in detections.detections:
        centre, width, height = each.bbox.center.position, each.bbox.size_x, each.bbox.size_y
        found.append((centre.x - width / 2, centre.y - height / 2, width, height))
    return found


def labelled(
    messages: ModuleType, detections: Any, found: list[Prediction | ImageError | None]
) -> Any:
    """Return a Detection2DArray with the same boxes and our labels.

    A box that lies outside the picture keeps its place, and gets no label.
    """
    for each, prediction in zip(detections.detections, found, strict=True):
        pairs: list[tuple[str, float]] = []
        if prediction is None:
            pairs = [(UNKNOWN, 1.0)]
        elif isinstance(prediction, Prediction):
            pairs = [(UNKNOWN, prediction.unknown_probability)] if prediction.label is None else []
            pairs += prediction.top(ALTERNATIVES)
        each.results = [_hypothesis(messages, name, score) for name, score in pairs]
    return detections


def _hypothesis(messages: ModuleType, name: str, score: float) -> Any:
    hypothesis = messages.ObjectHypothesis(class_id=name, score=score)
    return messages.ObjectHypothesisWithPose(hypothesis=hypothesis)


def info_message(stamp: Any, recogniser: Recogniser) -> Any:
    """Return what the node was taught as a robocle_interfaces/Info."""
    import robocle

    message = required("robocle_interfaces.msg").Info(
        version=recogniser.version,
        labels=list(recogniser.learner.counts),
        counts=list(recogniser.learner.counts.values()),
        state=recogniser.settings.state,
        robocle=robocle.__version__,
    )
    message.header.stamp = stamp
    return message


def diagnostics_message(stamp: Any, name: str, report: tuple[Level, str, dict[str, str]]) -> Any:
    """Return the health of the node as a diagnostic_msgs/DiagnosticArray."""
    diagnostics = required("diagnostic_msgs.msg")
    level, message, values = report
    status = diagnostics.DiagnosticStatus
    found = status(
        level=status.OK if level == "ok" else status.WARN,
        name=f"{name}: recognition",
        message=message,
        hardware_id="robocle",
        values=[diagnostics.KeyValue(key=key, value=value) for key, value in values.items()],
    )
    array = diagnostics.DiagnosticArray(status=[found])
    array.header.stamp = stamp
    return array
