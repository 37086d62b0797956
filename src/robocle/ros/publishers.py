"""What the node publishes."""

from functools import partial
from typing import Any

from robocle.errors import ImageError
from robocle.ros.health import Level
from robocle.ros.messages import (
    classification_message,
    diagnostics_message,
    info_message,
    labelled,
    prediction_message,
    required,
    vision_messages,
)
from robocle.ros.recogniser import Recogniser, Seen
from robocle.types import Prediction


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
