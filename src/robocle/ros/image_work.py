"""What the worker does with an image: recognises it, or labels the boxes in it."""

import logging
import time
from typing import Any

from robocle.errors import ImageError, RobocleError
from robocle.ros.encodings import picture_of
from robocle.ros.health import Health
from robocle.ros.messages import boxes_of
from robocle.ros.publishers import Publishers
from robocle.ros.recogniser import Recogniser

log = logging.getLogger("robocle")

Work = tuple[Any, Any]
"""An image, and the boxes in it, or None for the whole."""

WARNING_SECONDS = 5.0
"""Images that cannot be used are reported this often in the log, at most."""


class ImageWork:
    """Recognises images and publishes what they show.

    Args:
        recogniser: The learner and its settings.
        health: Where images are counted.
        publish: The publishers.
    """

    def __init__(self, recogniser: Recogniser, health: Health, publish: Publishers) -> None:
        self._recogniser, self._health, self._publish = recogniser, health, publish
        self._due = 0.0
        self._warned = 0.0

    def __call__(self, work: Work) -> None:
        """Recognise an image, or label the boxes in it."""
        message, detections = work
        try:
            if not self._is_due(self._recogniser.settings.max_rate):
                return
            if detections is None:
                self._recognise(message)
            else:
                self._label(message, detections)
            self._health.recognised += 1
        except RobocleError as error:
            self.refuse(error)

    def refuse(self, error: RobocleError) -> None:
        """Count an image or a box that cannot be used, and log it now and then."""
        self._health.refuse(error)
        if time.monotonic() - self._warned > WARNING_SECONDS:
            self._warned = time.monotonic()
            log.warning("an image was not used: %s", error)

    def _recognise(self, message: Any) -> None:
        seen = self._recogniser.see(picture_of(message))
        self._publish.prediction(message.header, seen, self._recogniser.version)

    def _label(self, message: Any, detections: Any) -> None:
        found = self._recogniser.see_boxes(picture_of(message), boxes_of(detections))
        for each in found:
            if isinstance(each, ImageError):
                self.refuse(each)
        self._publish.detections(detections, found)

    def _is_due(self, rate: float) -> bool:
        now = time.monotonic()
        if rate and now < self._due:
            return False
        self._due = max(now, self._due + 1 / rate) if rate else 0.0
        return True
