"""The services of the node: teach, undo, forget, rename, list, samples, remove, save.

An error of robocle is an answer with `success` false and its message; the node goes on.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from robocle._internal.wording import plural
from robocle.classifiers.labels import never_taught
from robocle.errors import ImageError, RobocleError, RosError, SpecError
from robocle.ros.encodings import RosPicture, picture_of
from robocle.ros.frames import MOST_FRAMES
from robocle.ros.messages import sample_message
from robocle.ros.recogniser import Recogniser

log = logging.getLogger("robocle")


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

    def teach(
        self, request: Any, response: Any, frames: Sequence[RosPicture] = (), why: str = ""
    ) -> Any:
        """Learn the images of the request, or the frames that it asked for.

        Args:
            request: The request.
            response: The response to fill.
            frames: The frames that came.
            why: Why no more came.
        """
        with self._answering(response):
            recogniser = self._recogniser()
            given = [picture_of(each) for each in (*request.images, *request.compressed_images)]
            pictures, wanted = given or frames, len(given) or request.frames or 1
            if len(pictures) < wanted:
                raise ImageError(
                    f"only {len(pictures)} of {plural(wanted, 'frame')} came, so nothing was "
                    f"taught: {why}"
                )
            taught, complaints = recogniser.teach(pictures, request.label, _box(request.box))
            response.taught, response.complaints = taught, complaints
            response.message = f"taught {plural(taught, 'picture')} of {request.label}"
        return self._changed(response)

    def refuse(self, error: RobocleError, response: Any) -> Any:
        """Answer that a request was refused."""
        log.warning("refused: %s", error)
        response.success, response.message = False, str(error)
        return response

    def undo(self, _request: Any, response: Any) -> Any:
        """Undo the last step."""
        with self._answering(response):
            response.message = f"undid {self._recogniser().learner.undo()}"
        return self._changed(response)

    def forget(self, request: Any, response: Any) -> Any:
        """Forget a label."""
        with self._answering(response):
            self._recogniser().learner.forget(request.label)
            response.message = f"forgot {request.label}"
        return self._changed(response)

    def rename(self, request: Any, response: Any) -> Any:
        """Rename a label."""
        with self._answering(response):
            self._recogniser().learner.rename(request.label, request.new_label)
            response.message = f"{request.label} is now {request.new_label}"
        return self._changed(response)

    def save(self, request: Any, response: Any) -> Any:
        """Write a copy of the state."""
        with self._answering(response):
            if not request.path:
                raise SpecError("the path is empty: give the file to write")
            self._recogniser().learner.save(request.path, replace=request.replace)
            response.message = f"wrote {request.path}"
        return response

    def remove(self, request: Any, response: Any) -> Any:
        """Remove taught pictures."""
        with self._answering(response):
            self._recogniser().learner.remove(*request.ids)
            response.message = f"removed {plural(len(request.ids), 'picture')}"
        return self._changed(response)

    def list_labels(self, _request: Any, response: Any) -> Any:
        """Return the labels, and what can be undone."""
        with self._answering(response):
            recogniser = self._recogniser()
            counts = recogniser.learner.counts
            response.labels, response.counts = [*counts], [*counts.values()]
            response.steps = [str(step) for step in recogniser.learner.steps]
            response.version = recogniser.version
            response.message = f"{plural(len(counts), 'label')}"
        return response

    def samples(self, request: Any, response: Any) -> Any:
        """Return the taught pictures of a label, or of all."""
        with self._answering(response):
            recogniser = self._recogniser()
            samples = recogniser.learner.samples
            found = [each for each in samples if request.label in ("", each.label)]
            if request.label and not found:
                raise never_taught(request.label, recogniser.learner.labels)
            response.samples = [sample_message(each) for each in found]
            response.version = recogniser.version
            response.message = plural(len(found), "picture")
        return response

    @contextmanager
    def _answering(self, response: Any) -> Iterator[None]:
        """Answer that the request succeeded, unless an error is raised; whatever it is, answer."""
        try:
            yield
        except RobocleError as error:
            self.refuse(error, response)
        except Exception as error:
            log.exception("an unexpected error in a service")
            self.refuse(RosError(f"an unexpected error: {error}"), response)
        else:
            log.info("%s", response.message)
            response.success = True

    def _changed(self, response: Any) -> Any:
        """Answer with the version after a change, and announce it."""
        if response.success:
            response.version = self._recogniser().version
            self._announce()
        return response


def _box(region: Any) -> tuple[float, float, float, float] | None:
    if region.width == 0 or region.height == 0:
        return None
    return region.x_offset, region.y_offset, region.width, region.height
