"""The messages of the node, in and out, and what publishes them.

Detections are messages of `vision_msgs` if that package is installed. Otherwise they are messages
of our own package with the same fields, so the rest of the code need not know.
"""

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from robocle.classifiers.labels import UNKNOWN
from robocle.errors import ImageError
from robocle.ros import required
from robocle.ros.recogniser import Level, Recogniser, Seen
from robocle.types import Prediction

ALTERNATIVES = 3
"""How many labels a box gets, the best first."""


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
    best = list(seen.confidences.items())[:ALTERNATIVES]
    return vision.Classification(header=header, results=_hypotheses(vision, seen, best))


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
        named = []
        if prediction is None:
            named = [messages.ObjectHypothesis(class_id=UNKNOWN, score=1.0)]
        elif isinstance(prediction, Prediction):
            named = _hypotheses(messages, prediction, prediction.top(ALTERNATIVES))
        each.results = [messages.ObjectHypothesisWithPose(hypothesis=one) for one in named]
    return detections


def _hypotheses(
    messages: ModuleType, found: Seen | Prediction, best: list[tuple[str, float]]
) -> list[Any]:
    """Return the best labels with their scores, after "unknown" if the object is unknown.

    While it is undecided there are none, so that nobody acts on the first one.
    """
    if found.verdict == "undecided":
        return []
    unknown = (
        [(UNKNOWN, found.unknown_probability)] if found.verdict in ("unknown", "nothing") else []
    )
    return [messages.ObjectHypothesis(class_id=name, score=s) for name, s in (*unknown, *best)]


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


class Publishers:
    """The publishers of a node. Those of predictions are silent unless the node is active.

    Args:
        node: The lifecycle node of rclpy.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._vision = vision_messages()
        own, qos = required("robocle_interfaces.msg"), required("rclpy.qos")
        self._messages = self._vision or own
        # Each event that could be reported makes every wait for messages longer. A subscriber whose
        # QoS does not fit is told so on its own side.
        events = required("rclpy.event_handler").PublisherEventCallbacks
        quiet = {"event_callbacks": events(use_default_callbacks=False)}
        managed = partial(node.create_lifecycle_publisher, **quiet)
        self._predictions = managed(own.Prediction, "prediction", 1)
        self._detections = managed(self.detection_array, "detections", 1)
        if self._vision is not None:
            kind = self._vision.Classification
            self._classifications = managed(kind, "classification", 1)
        latched = qos.QoSProfile(depth=1, durability=qos.DurabilityPolicy.TRANSIENT_LOCAL)
        self._info = node.create_publisher(own.Info, "info", latched, **quiet)
        array = required("diagnostic_msgs.msg").DiagnosticArray
        self._diagnostics = node.create_publisher(array, "/diagnostics", 1, **quiet)

    @property
    def detection_array(self) -> Any:
        """The type of the messages with boxes, in and out."""
        return self._messages.Detection2DArray

    def prediction(self, header: Any, seen: Seen, version: int) -> None:
        """Publish what an image shows."""
        self._predictions.publish(prediction_message(header, seen, version))
        if self._vision is not None:
            self._classifications.publish(classification_message(self._vision, header, seen))

    def detections(self, boxes: Any, found: list[Prediction | ImageError | None]) -> None:
        """Publish the boxes of a detector with our labels."""
        self._detections.publish(labelled(self._messages, boxes, found))

    def info(self, recogniser: Recogniser) -> None:
        """Publish what was taught."""
        self._info.publish(info_message(self._now(), recogniser))

    def diagnostics(self, report: tuple[Level, str, dict[str, str]]) -> None:
        """Publish the health of the node."""
        name = self._node.get_fully_qualified_name().lstrip("/")
        self._diagnostics.publish(diagnostics_message(self._now(), name, report))

    def _now(self) -> Any:
        return self._node.get_clock().now().to_msg()
