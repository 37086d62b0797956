"""Any detector in an ONNX file, used without its classes."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.onnx_backbone import one_line, open_session
from robocle.errors import BackboneError, FinderError
from robocle.finders import Corners
from robocle.finders.outputs import LAYOUTS, READERS, Layout, layout_of
from robocle.spec import Described, require_between, require_choice, require_whole
from robocle.types import Pixels

Pixel = Literal["auto", "imagenet", "unit", "levels", "bgr_levels"]
PIXELS: tuple[Pixel, ...] = get_args(Pixel)
_PIXELS_OF: Mapping[Layout, Pixel] = {
    "paddle": "imagenet", "torchvision": "unit", "corners": "unit", "centres": "unit",
    "yolox": "bgr_levels",
}  # fmt: skip
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
USUAL_SIZE = 640
LARGEST_FILE = 1_000_000_000
_ADVICE = "give an exported detector, and name its layout if it is not found"


class Detector(Described):
    """A detector in an ONNX file.

    Args:
        file: The file.
        layout: The layout of its outputs; see `robocle.finders.outputs`. "auto" recognises it by
            the shapes of the outputs, except for YOLOX.
        pixels: The values of the model's input: "unit" is 0 to 1, "imagenet" that minus ImageNet's
            mean and divided by its standard deviation, "levels" is 0 to 255, "bgr_levels" the same
            with blue first. "auto" is the usual choice of models with this layout.
        threshold: The lowest score of a box. It is low, because a detector does not know most
            objects that people teach.
        size: The side of the input, if the model takes any; 0 for 640.
        threads: The number of CPU threads.

    Raises:
        SpecError: An option has an invalid value.
        FinderError: The file cannot be read, or is no detector of a known layout.
    """

    def __init__(
        self,
        file: str,
        layout: Layout = "auto",
        pixels: Pixel = "auto",
        threshold: float = 0.1,
        size: int = 0,
        threads: int = 1,
    ) -> None:
        require_choice("layout", layout, LAYOUTS)
        require_choice("pixels", pixels, PIXELS)
        require_between("threshold", threshold, 0, 1)
        require_whole("size", size, 0, 4096)
        require_whole("threads", threads, 1, 256)
        self.file, self.layout, self.pixels = file, layout, pixels
        self.threshold, self.size, self.threads = threshold, size, threads
        model = _content(file)
        self.fingerprint = hashlib.sha256(model).hexdigest()
        try:
            self._session = open_session(model, file, threads)
        except BackboneError as error:
            raise FinderError(str(error)) from error
        self._image, self._others = self._inputs()
        self._layout = layout if layout != "auto" else self._recognised()
        self._pixels = pixels if pixels != "auto" else _PIXELS_OF[self._layout]

    @property
    def input_size(self) -> int:
        """The side of the square input in pixels."""
        height, width = self._image.shape[-2:]
        fixed = [each for each in (height, width) if isinstance(each, int)]
        if len({*fixed}) > 1:
            raise self._error(f"takes {width}x{height} pixels, not a square: export it with one")
        if self.size and fixed and self.size != fixed[0]:
            raise self._error(f"takes {fixed[0]} pixels, not size={self.size}: leave out the size")
        return fixed[0] if fixed else self.size or USUAL_SIZE

    def corners(self, pixels: Pixels) -> Corners:
        """Find boxes, as `robocle.finders.Finder` describes it.

        Raises:
            FinderError: The model fails, or its outputs do not have the layout.
        """
        given = {self._image.name: self._prepared(pixels), **self._others}
        try:
            outputs = self._session.run(None, given)
        except Exception as error:  # ONNX Runtime has an exception type of its own for each fault
            raise self._error(f"cannot be run: {one_line(error)}") from error
        try:
            with np.errstate(all="ignore"):  # what is not finite is left out
                corners, scores = READERS[self._layout](outputs, len(pixels))
        except (FinderError, AttributeError, IndexError, TypeError, ValueError) as error:
            reason = one_line(error)
            raise self._error(f"has not the layout {self._layout}: {reason}") from error
        order = np.argsort(-scores, kind="stable")
        likely: Corners = corners[order[scores[order] >= self.threshold]] / len(pixels)
        return likely

    def _prepared(self, pixels: Pixels) -> NDArray[np.float32]:
        values = pixels.astype(np.float32)
        if self._pixels in ("unit", "imagenet"):
            values /= 255
        if self._pixels == "imagenet":
            values = (values - MEAN) / DEVIATION
        if self._pixels == "bgr_levels":
            values = values[..., ::-1]
        planes = np.ascontiguousarray(values.transpose(2, 0, 1))
        return planes if len(self._image.shape) == 3 else planes[None]

    def _inputs(self) -> tuple[Any, dict[str, NDArray[np.float32]]]:
        """Return the input for the picture, and the values of the others."""
        inputs = self._session.get_inputs()
        pictures = [each for each in inputs if len(each.shape) in (3, 4) and 3 in each.shape[:-2]]
        if not pictures:
            raise self._error(f"takes no picture of 3 channels: {_ADVICE}")
        image = pictures[0]
        self._image = image
        side = self.input_size
        # Boxes are then in pixels of the input, whatever the size of the picture.
        known = {"scale_factor": (1, 1), "im_shape": (side, side)}
        others = [each.name for each in inputs if each is not image]
        for name in others:
            if name not in known:
                raise self._error(f"has an input {name!r} that is not known: {_ADVICE}")
        return image, {name: np.array([known[name]], np.float32) for name in others}

    def _recognised(self) -> Layout:
        shapes = [each.shape for each in self._session.get_outputs()]
        found = layout_of(shapes)
        if found == "auto":
            written = ", ".join(str(tuple(shape)) for shape in shapes)
            raise self._error(f"has outputs {written}, which are no known layout: {_ADVICE}")
        return found

    def _error(self, problem: str) -> FinderError:
        return FinderError(f"{self.file} {problem}")


def _content(file: str) -> bytes:
    path = Path(file)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FinderError(f"{file} is larger than 1 GB: {_ADVICE}")
        return path.read_bytes()
    except OSError as error:
        raise FinderError(f"cannot read {file}: {error.strerror}") from error
