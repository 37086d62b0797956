"""A robot that names what is put before its camera, and is taught while it looks.

    pip install 'robocle[camera]'
    python camera_robot.py home.robocle --camera 0

The camera must not move. Start with an empty table, then put an object on it. Type a
name and press Enter to teach the object that the robot sees. "undo" undoes the last
lesson, and Ctrl-D or Ctrl-C ends the program.

Three threads run: the camera's reads frames, `watch` recognises the newest, and the
main thread teaches. They share one learner, which needs no lock.
"""

import argparse
import sys
import threading
from contextlib import suppress

import cv2
import numpy as np
from numpy.typing import NDArray

from robocle import CameraError, Learner, NothingTaughtError, RobocleError, TemporalFilter
from robocle.cameras import Camera, open_camera

Box = tuple[int, int, int, int]
DIFFERENT = 25  # grey levels by which a pixel must change
SMALLEST = 32  # pixels per side of the smallest box


def changed_box(empty: NDArray[np.uint8], pixels: NDArray[np.uint8]) -> Box | None:
    """Return x, y, width and height of what is new in a frame: put your detector here."""
    new = (cv2.absdiff(empty, pixels).max(axis=2) > DIFFERENT).astype(np.uint8)
    without_specks = cv2.morphologyEx(new, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    x, y, width, height = cv2.boundingRect(without_specks)
    return (x, y, width, height) if min(width, height) >= SMALLEST else None


class Robot:
    """Recognises the frames of a camera, one after the other."""

    def __init__(self, learner: Learner, camera: Camera) -> None:
        self.learner, self.camera = learner, camera
        self._steady = TemporalFilter()  # one bad frame changes nothing
        self._empty: NDArray[np.uint8] | None = None
        self._seen: tuple[NDArray[np.uint8], Box] | None = None
        self._number = -1

    def look(self) -> str | None:
        """Recognise the newest frame, and return what is announced if that changed."""
        frame = self.camera.newest(after=self._number)
        if frame is None:  # the camera is slow
            return None
        self._number = frame.number
        if self._empty is None:
            self._empty = frame.pixels
        box = changed_box(self._empty, frame.pixels)
        self._seen = None if box is None else (frame.pixels, box)
        if box is None or not self.learner.labels:
            self._steady.reset()
            return None
        try:
            prediction = self.learner.predict(frame.pixels, box=box)
        except NothingTaughtError:  # the only lesson was undone meanwhile
            return None
        announced = self._steady.update(prediction)
        if not announced.changed or announced.verdict == "undecided":
            return None
        certain = "" if announced.sure or not announced.label else "probably "
        return certain + (announced.label or announced.verdict)

    def teach(self, label: str) -> str:
        """Teach the object in the last frame, and return what to tell the user."""
        if self._seen is None:
            return "there is nothing on the table"
        pixels, box = self._seen
        self.learner.teach(pixels, label, box=box)
        return f"learned {label}"


def watch(robot: Robot) -> None:
    """Print what the robot sees until its camera ends."""
    try:
        while True:
            if found := robot.look():
                print(found, flush=True)
    except CameraError as error:
        if not robot.camera.is_closed:
            print(f"{error}; Ctrl-D ends the program", file=sys.stderr)


def main() -> None:
    """Watch a camera, and teach what the user names, until Ctrl-D."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("state", help="the state file, such as home.robocle")
    parser.add_argument("--camera", default="0", help="a number, a URL or a video file")
    options = parser.parse_args()
    with Learner.open(options.state) as learner:
        with open_camera(options.camera) as camera:
            robot = Robot(learner, camera)
            watcher = threading.Thread(target=watch, args=(robot,))
            watcher.start()
            with suppress(KeyboardInterrupt):  # Ctrl-C
                for line in map(str.strip, sys.stdin):
                    try:
                        undo = line == "undo"
                        print(f"undid {learner.undo()}" if undo else robot.teach(line))
                    except RobocleError as error:
                        print(error, file=sys.stderr)
        watcher.join()  # a closed camera ends it


if __name__ == "__main__":
    try:
        main()
    except RobocleError as error:
        sys.exit(str(error))
