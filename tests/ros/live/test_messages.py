"""What the messages of the node say, with the real types of ROS 2."""

import math
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from vision_msgs.msg import Detection2D, Detection2DArray

from robocle.recognition.temporal_filter import Announced, Announcement
from robocle.ros.messages import boxes_of, classification_message


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("undecided", []), ("known", ["mug", "pan"]), ("unknown", ["unknown", "mug", "pan"])],
)
def test_a_classification_has_no_results_while_it_is_undecided(
    verdict: Announced, expected: list[str]
) -> None:
    said = Announcement(verdict, None, 0.45, "mug", {"mug": 0.45, "pan": 0.3}, 0.25)
    found: Any = classification_message(None, said)
    assert [each.class_id for each in found.results] == expected


@pytest.mark.parametrize(
    ("theta", "expected"),
    [(0.0, (30, 35, 40, 10)), (math.pi / 2, (45, 20, 10, 40)), (math.pi / 4, None)],
)
def test_a_rotated_box_is_the_upright_one_around_it(
    theta: float, expected: tuple[int, ...] | None
) -> None:
    box = Detection2D()
    box.bbox.center.position.x, box.bbox.center.position.y, box.bbox.center.theta = (
        50.0,
        40.0,
        theta,
    )
    box.bbox.size_x, box.bbox.size_y = 40.0, 10.0
    (found,) = boxes_of(Detection2DArray(detections=[box]))
    side = 50 / math.sqrt(2)
    around = expected or (50 - side / 2, 40 - side / 2, side, side)
    assert found == pytest.approx(around)
