"""The messages of the node, in and out, and their publishers."""

import array
import io
import math
from typing import Any, Literal

import numpy as np
from PIL import Image

from robocle._internal.wording import in_words
from robocle.classifiers.labels import UNKNOWN
from robocle.errors import ImageError
from robocle.images.boxes import Box
from robocle.learner import Learner
from robocle.learner.tracking import Track
from robocle.recognition.readiness import TaughtSample
from robocle.recognition.temporal_filter import Announcement
from robocle.ros import required
from robocle.types import Prediction, numbers_of

ALTERNATIVES = 3
"""How many labels a box gets, the best first."""
QUALITY = 85
"""The quality of the JPEG of a debug image."""
Level = Literal["ok", "warn"]
Shown = Announcement | Prediction | ImageError | None
"""What an image or a box shows; None if nothing has been taught."""


def prediction_message(header: Any, said: Announcement, changed: bool, version: int) -> Any:
    """Return what an image shows as a robocle_interfaces/Prediction."""
    ranked = said.top(len(numbers_of(said, "confidences").labels))
    return required("robocle_interfaces.msg").Prediction(
        header=header,
        verdict=said.verdict,
        label=said.label or "",
        nothing=said.nothing,
        nearest=said.nearest,
        sure=said.sure,
        confidence=said.confidence,
        unknown_probability=said.unknown_probability,
        labels=[label for label, _ in ranked],
        confidences=[confidence for _, confidence in ranked],
        changed=changed,
        version=version,
    )


def classification_message(header: Any, said: Announcement) -> Any:
    """Return what an image shows as a vision_msgs/Classification, the best label first."""
    return required("vision_msgs.msg").Classification(header=header, results=hypotheses(said))


def boxes_of(detections: Any) -> list[Box]:
    """Return the boxes of a Detection2DArray as (x, y, width, height).

    Pictures have upright boxes: of a box that is rotated, it is the upright one around it.
    """
    return [_upright(each.bbox) for each in detections.detections]


def _upright(box: Any) -> Box:
    across, down = (abs(turn(box.center.theta)) for turn in (math.cos, math.sin))
    width = box.size_x * across + box.size_y * down
    height = box.size_x * down + box.size_y * across
    return box.center.position.x - width / 2, box.center.position.y - height / 2, width, height


def labelled(detections: Any, found: list[Prediction | ImageError | None]) -> Any:
    """Return a Detection2DArray with the same boxes and our labels.

    A box that lies outside the picture keeps its place, and gets no label.
    """
    for each, shown in zip(detections.detections, found, strict=True):
        each.results = _results(shown)
    return detections


def detections_message(header: Any, tracks: list[Track]) -> Any:
    """Return what was found in an image as a Detection2DArray; the id is the number of a track."""
    messages = required("vision_msgs.msg")
    found = messages.Detection2DArray(header=header)
    for each in tracks:
        x, y, width, height = map(float, each.box)
        one = messages.Detection2D(header=header, results=_results(each.announcement))
        one.id = str(each.number or "")
        one.bbox.center.position.x, one.bbox.center.position.y = x + width / 2, y + height / 2
        one.bbox.size_x, one.bbox.size_y = width, height
        found.detections.append(one)
    return found


def _results(shown: Shown) -> list[Any]:
    if isinstance(shown, ImageError):
        return []
    kind = required("vision_msgs.msg").ObjectHypothesisWithPose
    return [kind(hypothesis=each) for each in hypotheses(shown)]


def hypotheses(shown: Announcement | Prediction | None) -> list[Any]:
    """Return the best labels with their scores, after "unknown" if the object is unknown.

    While it is undecided there are none, so that nobody acts on the first one.
    """
    kind = required("vision_msgs.msg").ObjectHypothesis
    if shown is None:
        return [kind(class_id=UNKNOWN, score=1.0)]
    if shown.verdict == "undecided":
        return []
    is_known = shown.verdict == "known"
    unknown = [] if is_known else [(UNKNOWN, shown.unknown_probability)]
    named = (*unknown, *shown.top(ALTERNATIVES))
    return [kind(class_id=name, score=score) for name, score in named]


def words_of(shown: Shown) -> str:
    """Return what a debug image says about an image or a box."""
    if shown is None or isinstance(shown, ImageError):
        return UNKNOWN if shown is None else "outside the image"
    if shown.label is not None:
        return f"{shown.likelihood} {shown.label} {shown.confidence:.0%}".lstrip()
    return in_words(None, shown.verdict, shown.nothing)


def info_message(stamp: Any, learner: Learner, version: int, state: str) -> Any:
    """Return what the node was taught as a robocle_interfaces/Info."""
    import robocle

    message = required("robocle_interfaces.msg").Info(
        version=version,
        labels=list(learner.counts),
        counts=list(learner.counts.values()),
        state=state,
        robocle=robocle.__version__,
    )
    message.header.stamp = stamp
    return message


def sample_message(sample: TaughtSample) -> Any:
    """Return a taught picture as a robocle_interfaces/Sample."""
    message = required("robocle_interfaces.msg").Sample(
        id=sample.id,
        label=sample.label,
        faults=list(sample.faults),
        recognised=-1.0 if sample.recognised is None else sample.recognised,
        taken_for=sample.taken_for or "",
    )
    message.stamp.sec = int(sample.time)
    message.stamp.nanosec = int(sample.time % 1 * 1e9)
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
        own, qos = required("robocle_interfaces.msg"), required("rclpy.qos")
        vision, sensors = required("vision_msgs.msg"), required("sensor_msgs.msg")
        # Each event that could be reported makes every wait for messages longer. A subscriber whose
        # QoS does not fit is told so on its own side.
        events = required("rclpy.event_handler").PublisherEventCallbacks
        quiet = {"event_callbacks": events(use_default_callbacks=False)}

        def managed(kind: Any, name: str) -> Any:
            return node.create_lifecycle_publisher(kind, f"~/{name}", 1, **quiet)

        self._predictions = managed(own.Prediction, "prediction")
        self._classifications = managed(vision.Classification, "classification")
        self._detections = managed(vision.Detection2DArray, "detections")
        self._drawn = managed(sensors.Image, "debug_image")
        self._compressed = managed(sensors.CompressedImage, "debug_image/compressed")
        latched = qos.QoSProfile(depth=1, durability=qos.DurabilityPolicy.TRANSIENT_LOCAL)
        self._info = node.create_publisher(own.Info, "~/info", latched, **quiet)
        array = required("diagnostic_msgs.msg").DiagnosticArray
        self._diagnostics = node.create_publisher(array, "/diagnostics", 1, **quiet)

    @property
    def detections_topic(self) -> str:
        """The full name of the topic with labelled boxes."""
        return str(self._detections.topic_name)

    @property
    def draws(self) -> bool:
        """Whether anybody listens to debug images."""
        return bool(
            self._drawn.get_subscription_count() or self._compressed.get_subscription_count()
        )

    def prediction(self, header: Any, said: Announcement, changed: bool, version: int) -> None:
        """Publish what an image shows."""
        self._predictions.publish(prediction_message(header, said, changed, version))
        self._classifications.publish(classification_message(header, said))

    def detections(self, message: Any) -> None:
        """Publish boxes with their labels."""
        self._detections.publish(message)

    def debug_image(self, header: Any, picture: Image.Image) -> None:
        """Publish a drawn image to those who listen, raw or compressed."""
        messages = required("sensor_msgs.msg")
        if self._drawn.get_subscription_count():
            pixels = np.asarray(picture.convert("RGB"))
            height, width, _ = pixels.shape
            size = {"height": height, "width": width, "step": 3 * width}
            data = array.array("B", pixels.tobytes())
            message = messages.Image(header=header, encoding="rgb8", data=data, **size)
            self._drawn.publish(message)
        if self._compressed.get_subscription_count():
            picture.save(file := io.BytesIO(), "JPEG", quality=QUALITY)
            data = array.array("B", file.getvalue())
            message = messages.CompressedImage(header=header, format="jpeg", data=data)
            self._compressed.publish(message)

    def info(self, learner: Learner, version: int, state: str) -> None:
        """Publish what was taught."""
        self._info.publish(info_message(self._now(), learner, version, state))

    def diagnostics(self, report: tuple[Level, str, dict[str, str]]) -> None:
        """Publish the health of the node."""
        name = self._node.get_fully_qualified_name().lstrip("/")
        self._diagnostics.publish(diagnostics_message(self._now(), name, report))

    def _now(self) -> Any:
        return self._node.get_clock().now().to_msg()
