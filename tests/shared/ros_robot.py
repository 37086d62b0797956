"""A robot for tests: the node in a process of its own, and a camera, a detector and a listener.

Only tests that run where rclpy is installed import this module.
"""

import array
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from PIL import Image as PillowImage
from rcl_interfaces.srv import SetParameters
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from robocle_interfaces.msg import Info, Prediction
from robocle_interfaces.srv import Forget, List, Remove, Rename, Samples, Save, Teach, Undo
from sensor_msgs.msg import CompressedImage, Image
from std_srvs.srv import SetBool
from vision_msgs.msg import Classification, Detection2DArray

from home_pictures import home_picture
from waiting import wait_for

RECOGNISER = Path(sys.prefix) / "lib/robocle_ros/recogniser"
"""What `ros2 run robocle_ros recogniser` runs."""
SERVICES = {
    "teach": Teach,
    "undo": Undo,
    "forget": Forget,
    "rename": Rename,
    "list": List,
    "samples": Samples,
    "remove": Remove,
    "save": Save,
    "enable": SetBool,
}


def picture_of(label: str, number: int) -> Path:
    """Return a picture of the shipped home."""
    return home_picture(f"clean/{label}_01/{number}")


def raw_image(path: Path, encoding: str = "rgb8") -> Image:
    """Return a picture file as a raw image of 8 bits per channel."""
    pixels = np.asarray(PillowImage.open(path).convert("RGB"))
    mosaic = pixels[..., 1].copy()
    mosaic[::2, ::2], mosaic[1::2, 1::2] = pixels[::2, ::2, 0], pixels[1::2, 1::2, 2]
    channels = {
        "rgb8": pixels,
        "bgr8": pixels[..., ::-1],
        "mono8": pixels.mean(2, keepdims=True),
        "bayer_rggb8": mosaic[..., None],
    }
    content = np.ascontiguousarray(channels[encoding].astype(np.uint8))
    height, width, size = content.shape
    message = Image(height=height, width=width, encoding=encoding, step=width * size)
    message.data = array.array("B", content.tobytes())
    return message


def scene(**objects: int) -> bytes:
    """Return a JPEG of a table of 640 x 480, with objects at these distances from the left."""
    canvas = PillowImage.new("RGB", (640, 480), (60, 56, 52))
    for label, left in objects.items():
        canvas.paste(PillowImage.open(picture_of(label, 5)), (left, 100))
    canvas.save(file := io.BytesIO(), "JPEG", quality=90)
    return file.getvalue()


def compressed_image(content: bytes, kind: str = "jpeg") -> CompressedImage:
    """Return the bytes of a file as a compressed image."""
    return CompressedImage(format=kind, data=array.array("B", content))


class Process:
    """The node in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [RECOGNISER, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def logged(self, words: str) -> bool:
        """Return whether the node has logged something with these words."""
        return any(words in line for line in self.lines)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process and return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(30)
        self._thread.join(10)
        assert self.process.stdout
        self.process.stdout.close()
        return code

    @property
    def megabytes(self) -> float:
        """The memory that the process has now."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Robot:
    """A camera, a detector and a listener for one node."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("test_robot")
        best_effort = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        create = self.node.create_publisher
        self.raw = create(Image, "image", best_effort)
        self.compressed = create(CompressedImage, "image/compressed", best_effort)
        self.boxes = create(Detection2DArray, "boxes", 10)
        self.predictions: list[Any] = []
        self.detections: list[Any] = []
        self.infos: list[Any] = []
        self.diagnostics: list[Any] = []
        self.classifications: list[Any] = []
        self.listen(Prediction, "/robocle/prediction", self.predictions)
        self.listen(Classification, "/robocle/classification", self.classifications)
        self.listen(Detection2DArray, "/robocle/detections", self.detections)
        self.listen(Info, "/robocle/info", self.infos, latched)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)
        self.clients = {
            name: self.node.create_client(kind, f"/robocle/{name}")
            for name, kind in SERVICES.items()
        }
        self._stamp = 0
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._thread.join(10)
        self.node.destroy_node()

    def listen(self, kind: Any, topic: str, heard: list[Any], qos: Any = 10) -> Any:
        """Append the messages of a topic to a list."""
        return self.node.create_subscription(kind, topic, heard.append, qos)

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def _diagnosed(self, message: Any) -> None:
        self.diagnostics += [each for each in message.status if each.hardware_id == "robocle"]

    def connected(self, publisher: Any) -> None:
        """Wait until the node listens to a publisher and its predictions can be heard."""
        wait_for(lambda: publisher.get_subscription_count() > 0, "the node subscribes")
        wait_for(
            lambda: self.node.count_publishers("/robocle/prediction") > 0, "the node publishes"
        )

    @property
    def last_stamp(self) -> int:
        """The seconds of the last stamp."""
        return 1000 + self._stamp

    def stamped(self, message: Any) -> Any:
        """Give a message the next stamp."""
        self._stamp += 1
        message.header.stamp.sec = 1000 + self._stamp
        message.header.frame_id = "camera"
        return message

    def show(self, message: Any, publisher: Any = None, seconds: float = 60) -> Any:
        """Publish an image until it was recognised, and return the prediction for it."""
        publisher = publisher or self.raw
        self.connected(publisher)
        self.stamped(message)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            publisher.publish(message)
            for _ in range(50):
                for found in reversed(self.predictions):
                    if found.header.stamp == message.header.stamp:
                        return found
                time.sleep(0.01)
        raise AssertionError("no prediction came")

    def ask(self, name: str, **fields: Any) -> Any:
        """Call a service and return the future of its response."""
        client = self.clients[name]
        assert client.wait_for_service(30), f"there is no service {name}"
        return client.call_async(SERVICES[name].Request(**fields))

    def call(self, name: str, seconds: float = 90, **fields: Any) -> Any:
        """Call a service and return its response."""
        future = self.ask(name, **fields)
        wait_for(future.done, f"an answer of {name}", seconds)
        return future.result()

    def call_of(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service that is not robocle's own, and return its response."""
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(30), f"there is no service {name}"
        future = client.call_async(kind.Request(**fields))
        wait_for(future.done, f"an answer of {name}", 90)
        return future.result()

    def set_parameter(self, name: str, value: Any) -> Any:
        """Set a parameter of the node, and return whether it was taken and why not."""
        parameter = rclpy.Parameter(name, value=value).to_parameter_msg()
        service = "/robocle/set_parameters"
        return self.call_of(SetParameters, service, parameters=[parameter]).results[0]

    def teach(self, label: str, *messages: Any, **fields: Any) -> Any:
        """Teach the images of a request."""
        raw = [each for each in messages if isinstance(each, Image)]
        rest = [each for each in messages if not isinstance(each, Image)]
        return self.call("teach", label=label, images=raw, compressed_images=rest, **fields)

    def teach_all(self, *labels: str) -> None:
        """Teach four pictures of each label."""
        for label in labels:
            pictures = [picture_of(label, number) for number in range(4)]
            answer = self.teach(label, *(raw_image(each) for each in pictures))
            assert answer.success, answer.message
            assert answer.taught == 4

    @contextmanager
    def streaming(self, publisher: Any, make: Callable[[], Any], rate: float) -> Iterator[None]:
        """Publish images at a rate until the context ends."""
        stop = threading.Event()

        def publish() -> None:
            while not stop.wait(1 / rate):
                publisher.publish(self.stamped(make()))

        thread = threading.Thread(target=publish, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
