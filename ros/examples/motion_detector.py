"""A detector for trying the node: finds what changed since the first image, and knows no labels.

    python3 motion_detector.py --ros-args -r image/compressed:=/camera/image_raw/compressed
    ros2 launch robocle_ros recogniser.launch.py state:=home.robocle boxes:=true \
        image:=/camera/image_raw image_transport:=compressed

The camera must not move. Start with an empty table, then put an object on it.
"""

import io
from contextlib import suppress
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from rclpy.executors import ExternalShutdownException
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage
from vision_msgs.msg import Detection2D, Detection2DArray

DIFFERENT = 25
"""How many grey levels a pixel must change."""
SMALLEST = 32
"""Pixels per side of the smallest box."""


def changed_box(
    before: NDArray[np.int16], now: NDArray[np.int16]
) -> tuple[float, float, float, float] | None:
    """Return x, y, width and height of the region that changed."""
    rows, columns = np.nonzero(np.abs(now - before) > DIFFERENT)
    if len(rows) == 0:
        return None
    # A few pixels of noise far away must not count.
    (left, right), (top, bottom) = (np.percentile(axis, (1, 99)) for axis in (columns, rows))
    if min(right - left, bottom - top) < SMALLEST:
        return None
    return float(left), float(top), float(right - left), float(bottom - top)


class MotionDetector:
    """Publishes the box of what changed since the first image."""

    def __init__(self, node: Any) -> None:
        self._empty: NDArray[np.int16] | None = None
        self._boxes = node.create_publisher(Detection2DArray, "boxes", 1)
        node.create_subscription(
            CompressedImage, "image/compressed", self._image, qos_profile_sensor_data
        )

    def _image(self, message: Any) -> None:
        picture = Image.open(io.BytesIO(bytes(message.data))).convert("L")
        grey = np.asarray(picture.filter(ImageFilter.BoxBlur(2)), np.int16)
        if self._empty is None or self._empty.shape != grey.shape:
            self._empty = grey
        # With the header of the image, so that both can be matched.
        found = Detection2DArray(header=message.header)
        box = changed_box(self._empty, grey)
        if box is not None:
            found.detections = [_detection(message.header, *box)]
        self._boxes.publish(found)


def _detection(header: Any, x: float, y: float, width: float, height: float) -> Any:
    detection = Detection2D(header=header)
    detection.bbox.center.position.x = x + width / 2
    detection.bbox.center.position.y = y + height / 2
    detection.bbox.size_x, detection.bbox.size_y = width, height
    return detection


def main() -> None:
    """Run until interrupted."""
    rclpy.init()
    node = rclpy.create_node("motion_detector")
    MotionDetector(node)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)


if __name__ == "__main__":
    main()
