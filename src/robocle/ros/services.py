"""The services of the node: teach, undo, forget, rename, list, save.

An error of robocle is an answer with `success` false and its message; the node goes on.
"""

import logging
from collections.abc import Callable
from threading import Event
from typing import Any

from robocle.errors import ImageError, RobocleError, RosError, SpecError
from robocle.ros.awaited_frames import MOST_FRAMES, AwaitedFrames
from robocle.ros.encodings import RosPicture, picture_of
from robocle.ros.recogniser import Recogniser
from robocle.wording import plural

log = logging.getLogger("robocle")

Answer = Any
Act = Callable[[Any, Any], str]


class Services:
    """What the services do, given a request and a response to fill.

    Args:
        recogniser: The learner and its settings; raises if the node is not configured.
        frames: Where requests wait for frames.
        running: Set while images are recognised.
        announce: Called after each change.
    """

    def __init__(
        self,
        recogniser: Callable[[], Recogniser],
        frames: AwaitedFrames,
        running: Event,
        announce: Callable[[], None],
    ) -> None:
        self._recogniser = recogniser
        self._frames = frames
        self._running = running
        self._announce = announce

    def teach(self, request: Any, response: Any) -> Answer:
        """Learn the images of the request, or the next frames."""
        return self._answer(self._taught, request, response)

    def undo(self, request: Any, response: Any) -> Answer:
        """Undo the last step."""
        return self._answer(
            lambda *_: f"undid {self._recogniser().learner.undo()}", request, response
        )

    def forget(self, request: Any, response: Any) -> Answer:
        """Forget a label."""
        return self._answer(self._forgotten, request, response)

    def rename(self, request: Any, response: Any) -> Answer:
        """Rename a label."""
        return self._answer(self._renamed, request, response)

    def save(self, request: Any, response: Any) -> Answer:
        """Write a copy of the state."""
        response.success, response.message = self._attempt(self._saved, request, response)
        return response

    def list_labels(self, _request: Any, response: Any) -> Answer:
        """Return the labels, and what can be undone."""
        try:
            recogniser = self._recogniser()
        except RosError:
            return response
        counts = recogniser.learner.counts
        response.labels, response.counts = [*counts], [*counts.values()]
        response.steps = recogniser.learner.steps
        response.version = recogniser.version
        return response

    def _answer(self, act: Act, request: Any, response: Any) -> Answer:
        """Change something, and answer with the version after it."""
        response.success, response.message = self._attempt(act, request, response)
        if response.success:
            response.version = self._recogniser().changed()
            self._announce()
        return response

    def _attempt(self, act: Act, request: Any, response: Any) -> tuple[bool, str]:
        try:
            message = act(request, response)
        except RobocleError as error:
            log.warning("refused: %s", error)
            return False, str(error)
        log.info("%s", message)
        return True, message

    def _taught(self, request: Any, response: Any) -> str:
        recogniser = self._recogniser()
        pictures = self._pictures(request, recogniser)
        box = _box(request.box)
        response.complaints = recogniser.teach(pictures, request.label, box)
        response.taught = len(pictures)
        return f"taught {plural(len(pictures), 'picture')} of {request.label}"

    def _pictures(self, request: Any, recogniser: Recogniser) -> list[RosPicture]:
        given = [picture_of(each) for each in (*request.images, *request.compressed_images)]
        if given:
            return given
        count = request.frames or 1
        if count > MOST_FRAMES:
            raise SpecError(f"frames={count} is out of range: give 1 to {MOST_FRAMES}")
        if not self._running.is_set():
            raise ImageError("no frame will come: activate and enable the node, or send images")
        found = self._frames.collect(count, recogniser.settings.teach_timeout, self._running)
        if len(found) < count:
            raise ImageError(
                f"only {len(found)} of {plural(count, 'frame')} came within "
                f"{recogniser.settings.teach_timeout:g} s, so nothing was taught: check the camera"
            )
        return found

    def _forgotten(self, request: Any, _response: Any) -> str:
        self._recogniser().learner.forget(request.label)
        return f"forgot {request.label}"

    def _renamed(self, request: Any, _response: Any) -> str:
        self._recogniser().learner.rename(request.label, request.new_label)
        return f"{request.label} is now {request.new_label}"

    def _saved(self, request: Any, _response: Any) -> str:
        if not request.path:
            raise SpecError("the path is empty: give the file to write")
        self._recogniser().learner.save(request.path)
        return f"wrote {request.path}"


def _box(region: Any) -> tuple[float, float, float, float] | None:
    if region.width == 0 or region.height == 0:
        return None
    return region.x_offset, region.y_offset, region.width, region.height
