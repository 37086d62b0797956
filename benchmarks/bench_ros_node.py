"""What the ROS 2 node costs beyond the learner: `python benchmarks/bench_ros_node.py`.

A camera publishes compressed images of 640x480. The node says in its diagnostics how much CPU time
its process took, and how much of that the learner took; the rest is ROS, the middleware and ours.
CPU time is used because it does not depend on what else the machine does. What the node publishes
must be what the learner predicts.

The benchmark runs in the environment that `make ros` sets up; without it, it is left out.
"""

import argparse
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-ros/bin/python"
LIMIT = 5.0


def jpeg() -> bytes:
    """Return a frame of 640x480 as a camera driver compresses it."""
    from PIL import Image

    picture = ROOT / "src/robocle/demo/home/clutter/mug_01/0.jpg"
    file = io.BytesIO()
    Image.open(picture).resize((640, 480), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def taught(folder: Path) -> Path:
    """Return a state that was taught three objects."""
    from robocle import Learner

    state = folder / "home.robocle"
    with Learner.open(state) as learner:
        for label in ("mug", "clock", "banana"):
            for number in range(5):
                picture = ROOT / f"src/robocle/demo/home/clean/{label}_01/{number}.jpg"
                learner.teach(picture, label, poor="accept")
    return state


def values(status: Any) -> dict[str, float]:
    """Return the numbers in a diagnostic status."""
    return {each.key: float(each.value) for each in status.values}


def measured(robot: Any, content: bytes, reports: int) -> tuple[float, float, int]:
    """Return the milliseconds per image of the process and of the learner, over some seconds."""
    from ros_robot import compressed_image
    from waiting import wait_for

    with robot.streaming(robot.compressed, lambda: compressed_image(content), rate=20):
        start = len(robot.diagnostics) + 2  # the first ones include the start
        wait_for(lambda: len(robot.diagnostics) > start + reports, "diagnostics", 120)
    first, last = values(robot.diagnostics[start]), values(robot.diagnostics[start + reports])
    images = int(last["images recognised"] - first["images recognised"])
    process, learner = (
        1e3 * (last[f"{name} CPU seconds"] - first[f"{name} CPU seconds"]) / images
        for name in ("process", "learner")
    )
    return process, learner, images


def run(quick: bool) -> None:
    """Start the node, publish images and report the figures."""
    import rclpy
    from measuring import finish, report, workload

    from robocle import Learner
    from ros_robot import Process, Robot, compressed_image

    content = jpeg()
    with tempfile.TemporaryDirectory() as folder:
        state = taught(Path(folder))
        expected = Learner.load(state).predict(content)
        rclpy.init()
        options = ("-p", "image_transport:=compressed", "-p", "filter:=false")
        node = Process(state, "--ros-args", *options)
        with Robot() as robot:
            seen = robot.show(compressed_image(content), robot.compressed)
            assert (seen.label or None) == expected.label
            assert abs(dict(zip(seen.labels, seen.confidences, strict=True))["mug"]
                       - expected.confidences["mug"]) < 1e-6  # fmt: skip
            process, learner, images = measured(robot, content, 2 if quick else 12)
            node.end()
        rclpy.shutdown()
    workload("640x480 JPEG, 20 images per second")
    detail = (
        f"{process:.1f} ms of CPU time per image, {learner:.1f} of it the learner; {images} images"
    )
    report("beyond the learner", process - learner, LIMIT, at_least=False, unit=" ms",
           detail=detail)  # fmt: skip
    finish(demanding=not quick)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer images: agreement only")
    given = parser.parse_args()
    if importlib.util.find_spec("rclpy"):
        run(given.quick)
    elif PYTHON.exists():
        environment = {
            "ROS_DOMAIN_ID": str(10 + os.getpid() % 90),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "PYTHONPATH": str(ROOT / "tests/shared"),
        }
        command = [str(PYTHON), __file__, *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=os.environ | environment).returncode)
    else:
        print("left out: `make ros` sets up ROS 2")


if __name__ == "__main__":
    main()
