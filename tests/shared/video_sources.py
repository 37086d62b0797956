"""A video file and a network camera on this machine, both from pictures of the shipped home.

    python video_sources.py PORT PICTURE...

runs the network camera as a program, which can be killed and stopped.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np

from home_pictures import home_picture as home_picture


def write_video(path: Path, pictures: Sequence[Path], rate: float = 30.0, repeat: int = 1) -> Path:
    """Write a video in which each picture is shown for some frames."""
    frames = [cv2.imread(str(picture)) for picture in pictures]
    assert all(frame is not None for frame in frames)
    height, width = frames[0].shape[:2]  # type: ignore[union-attr]
    codec = cv2.VideoWriter.fourcc(*("MJPG" if path.suffix == ".avi" else "mp4v"))
    writer = cv2.VideoWriter(str(path), codec, rate, (width, height))
    for frame in frames:
        for _ in range(repeat):
            writer.write(np.asarray(frame))
    writer.release()
    return path


class NetworkCamera:
    """An MJPEG camera over HTTP on a free port of this machine.

    Attributes:
        pictures: The JPEG files that it sends, over and over.
        frames: After how many frames a connection ends; None never ends it.
    """

    def __init__(self, pictures: Sequence[Path], frames: int | None = None, port: int = 0) -> None:
        self.pictures = [picture.read_bytes() for picture in pictures]
        self.frames = frames
        self.stopped = threading.Event()
        camera = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
                self.end_headers()
                camera.send(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/stream.mjpg"

    def send(self, request: BaseHTTPRequestHandler) -> None:
        """Send frames until the client leaves or the camera stops."""
        number = 0
        while not self.stopped.is_set() and (self.frames is None or number < self.frames):
            picture = self.pictures[number % len(self.pictures)]
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
            try:
                request.wfile.write(head.encode() + picture + b"\r\n")
            except OSError:
                return
            number += 1
            time.sleep(0.02)


@contextmanager
def network_camera(
    pictures: Sequence[Path], frames: int | None = None, port: int = 0
) -> Iterator[NetworkCamera]:
    """Run an MJPEG camera until the context ends."""
    camera = NetworkCamera(pictures, frames, port)
    thread = threading.Thread(target=camera.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield camera
    finally:
        camera.stopped.set()
        camera.server.shutdown()
        camera.server.server_close()
        thread.join()


@contextmanager
def camera_program(port: int, *pictures: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a network camera as a program of its own, until it is killed or the context ends."""
    command = [sys.executable, __file__, str(port), *map(str, pictures)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    with network_camera([Path(each) for each in sys.argv[2:]], port=int(sys.argv[1])):
        print("ready", flush=True)
        threading.Event().wait()
