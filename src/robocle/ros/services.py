"""The services of the node: teach, undo, forget, rename, list, save.

An error of robocle is an answer with `success` false and its message; the node goes on.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from robocle._internal.wording import plural
from robocle.errors import ImageError, RobocleError, RosError, SpecError
from robocle.ros.awaited_frames import MOST_FRAMES
from robocle.ros.encodings import RosPicture, picture_of
from robocle.ros.recogniser import Recogniser

log = logging.getLogger("robocle")

Answer = Any
Act = Callable[[Any, Any], str]


class Services:
    """What the services do, given a request and a response to fill.

    Args:
        recogniser: Returns the learner and its settings; raises if the node is not configured.
        announce: Called after each change.
    """

    def __init__(self, recogniser: Callable[[], Recogniser], announce: Callable[[], None]) -> None:
        self._recogniser = recogniser
        self._announce = announce

    def frames_to_await(self, request: Any, running: bool) -> int:
        """Return how many frames of the camera a request to teach needs; 0 if it has images.

        Raises:
            RobocleError: The request asks for too many, or no frames will come.
        """
        self._recogniser()
        if request.images or request.compressed_images:
            return 0
        count = request.frames or 1
        if count > MOST_FRAMES:
            raise SpecError(f"frames={count} is out of range: give 1 to {MOST_FRAMES}")
        if not running:
            raise ImageError("no frame will come: activate and enable the node, or send images")
        return int(count)

    def teach(self, request: Any, response: Any, frames: Sequence[RosPicture] = ()) -> Answer:
        """Learn the images of the request, or the frames that it asked for."""
        return self._answer(partial(self._taught, frames), request, response)

    def refuse(self, error: RobocleError, response: Any) -> Answer:
        """Answer that a request was refused."""
        log.warning("refused: %s", error)
        response.success, response.message = False, str(error)
        return response

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
        response.steps = [str(step) for step in recogniser.learner.steps]
        response.version = recogniser.version
        return response

    def _answer(self, act: Act, request: Any, response: Any) -> Answer:
        """Change something, and answer with the version after it."""
        response.success, response.message = self._attempt(act, request, response)
        if response.success:
            response.version = self._recogniser().version
            self._announce()
        return response

    def _attempt(self, act: Act, request: Any, response: Any) -> tuple[bool, str]:
        try:
            message = act(request, response)
        except RobocleError as error:
            self.refuse(error, response)
            return False, str(error)
        log.info("%s", message)
        return True, message

    def _taught(self, frames: Sequence[RosPicture], request: Any, response: Any) -> str:
        recogniser = self._recogniser()
        given = [picture_of(each) for each in (*request.images, *request.compressed_images)]
        wanted = len(given) or request.frames or 1
        pictures = given or frames
        if len(pictures) < wanted:
            raise ImageError(
                f"only {len(pictures)} of {plural(wanted, 'frame')} came within "
                f"{recogniser.settings.teach_timeout:g} s, so nothing was taught: check the camera"
            )
        response.complaints = recogniser.teach(pictures, request.label, _box(request.box))
        response.taught = len(pictures)
        return f"taught {plural(len(pictures), 'picture')} of {request.label}"

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
