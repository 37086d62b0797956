"""The services of the node: teach, undo, forget, rename, list, samples, remove, save.

An error of robocle is an answer with `success` false and its message; the node goes on.
"""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

from robocle._internal.wording import plural
from robocle.errors import ImageError, RobocleError, RosError, SpecError
from robocle.ros.encodings import RosPicture, picture_of
from robocle.ros.frames import MOST_FRAMES
from robocle.ros.messages import sample_message
from robocle.ros.recogniser import Recogniser

log = logging.getLogger("robocle")


def _answering(serve: Callable[..., str]) -> Callable[..., Any]:
    """Return a callback of a service from a method that returns the message of its response.

    The response has `success`, the message or that of the error, and the version afterwards, if it
    has one. Whatever happens, there is a response.
    """

    @functools.wraps(serve)
    def answer(self: "Services", request: Any, response: Any, *rest: Any) -> Any:
        try:
            recogniser = self.recogniser()
            response.message = serve(self, recogniser, request, response, *rest)
            if hasattr(response, "version"):
                response.version = recogniser.version
        except RobocleError as error:
            return self.refuse(error, response)
        except Exception as error:
            log.exception("an unexpected error in a service")
            return self.refuse(RosError(f"an unexpected error: {error}"), response)
        log.info("%s", response.message)
        response.success = True
        self.announce()
        return response

    return answer


class Services:
    """What the services do, given a request and a response to fill.

    Args:
        recogniser: Returns the learner and its settings; raises if the node is not configured.
        announce: Called after each request that succeeded: publishes what was taught, if it has
            changed.
    """

    def __init__(self, recogniser: Callable[[], Recogniser], announce: Callable[[], None]) -> None:
        self.recogniser = recogniser
        self.announce = announce

    def frames_to_await(self, request: Any, running: bool) -> int:
        """Return how many frames of the camera a request to teach needs; 0 if it has images.

        Raises:
            RobocleError: The request asks for too many, or no frames will come.
        """
        self.recogniser()
        if request.images or request.compressed_images:
            return 0
        count = request.frames or 1
        if count > MOST_FRAMES:
            raise SpecError(f"frames={count} is out of range: give 1 to {MOST_FRAMES}")
        if not running:
            raise ImageError("no frame will come: activate and enable the node, or send images")
        return int(count)

    def refuse(self, error: RobocleError, response: Any) -> Any:
        """Answer that a request was refused."""
        log.warning("refused: %s", error)
        response.success, response.message = False, str(error)
        return response

    @_answering
    def teach(self, recogniser: Recogniser, request: Any, response: Any,
              frames: Sequence[RosPicture] = (), why: str = "") -> str:  # fmt: skip
        """Learn the images of the request, or the frames that it asked for.

        Args:
            recogniser: The learner and its settings.
            request: The request.
            response: The response to fill.
            frames: The frames that came.
            why: Why no more came.
        """
        given = [picture_of(each) for each in (*request.images, *request.compressed_images)]
        pictures, wanted = given or frames, len(given) or request.frames or 1
        if len(pictures) < wanted:
            raise ImageError(
                f"only {len(pictures)} of {plural(wanted, 'frame')} came, so nothing was "
                f"taught: {why}"
            )
        region = request.box
        box = (region.x_offset, region.y_offset, region.width, region.height)
        response.taught, response.complaints = recogniser.teach(
            pictures, request.label, box if region.width and region.height else None
        )
        return f"taught {plural(response.taught, 'picture')} of {request.label}"

    @_answering
    def undo(self, recogniser: Recogniser, _request: Any, _response: Any) -> str:
        """Undo the last step."""
        return f"undid {recogniser.learner.undo()}"

    @_answering
    def forget(self, recogniser: Recogniser, request: Any, _response: Any) -> str:
        """Forget a label."""
        recogniser.learner.forget(request.label)
        return f"forgot {request.label}"

    @_answering
    def rename(self, recogniser: Recogniser, request: Any, _response: Any) -> str:
        """Rename a label."""
        recogniser.learner.rename(request.label, request.new_label)
        return f"{request.label} is now {request.new_label}"

    @_answering
    def save(self, recogniser: Recogniser, request: Any, _response: Any) -> str:
        """Write a copy of the state."""
        if not request.path:
            raise SpecError("the path is empty: give the file to write")
        recogniser.learner.save(request.path, replace=request.replace)
        return f"wrote {request.path}"

    @_answering
    def remove(self, recogniser: Recogniser, request: Any, _response: Any) -> str:
        """Remove taught pictures."""
        return f"removed {plural(recogniser.learner.remove(*request.ids), 'picture')}"

    @_answering
    def list_labels(self, recogniser: Recogniser, _request: Any, response: Any) -> str:
        """Return the labels, and what can be undone."""
        counts = recogniser.learner.counts
        response.labels, response.counts = [*counts], [*counts.values()]
        response.steps = [str(step) for step in recogniser.learner.steps]
        return plural(len(counts), "label")

    @_answering
    def samples(self, recogniser: Recogniser, request: Any, response: Any) -> str:
        """Return the taught pictures of a label, or of all."""
        learner = recogniser.learner
        label = learner.taught_label(request.label) if request.label else None
        found = [each for each in learner.samples if label in (None, each.label)]
        response.samples = [sample_message(each) for each in found]
        return plural(len(found), "picture")
