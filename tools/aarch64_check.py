"""Compare robocle on aarch64 (Raspberry Pi, Jetson) with robocle on this machine: `make aarch64`.

A Python for aarch64 runs under qemu's user emulation. It and qemu are Debian packages from the apt
sources of this machine; the libraries are wheels from its pip index. Everything is unpacked into a
cache folder, so nothing is installed and no root is needed. Both machines teach the same rendered
pictures, predict others, and open the state of the other one, in float32 and in 8-bit integers.
Labels must be equal, and scores close.

Where the packages cannot be had, one line says why the check is skipped.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "src" / "robocle" / "demo" / "home"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "robocle-aarch64"
# Few pictures: an emulated processor takes seconds for each.
LABELS = ("hammer", "mug", "teddy")
PLACES = ("illumination", "pose")
TOLERANCES: dict[Any, float] = {"fast": 1e-5, "light": 2e-2}
"""How far the scores of a profile may differ. Integers may be rounded another way."""
SECONDS = 900
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64")
# Of a Raspberry Pi 5. onnxruntime reads it to choose its kernels.
CPU = "cortex-a76"
CPU_INFO = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x4
CPU part\t: 0xd0b
CPU revision\t: 1
"""


class UnavailableError(Exception):
    """Something that the check needs cannot be had on this machine."""


def main() -> None:
    """Set up the emulated machine if needed, run both, and compare."""
    start = time.perf_counter()
    try:
        emulated = emulated_python(CACHE)
    except UnavailableError as reason:
        print(f"aarch64 check skipped: {reason}")
        return
    ready = time.perf_counter() - start
    folder = CACHE / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    here = [sys.executable, __file__, "run", str(folder)]
    there = [*emulated, __file__, "run", str(folder)]
    expected = result_of([*here, "here", ""], CACHE / "models-here")
    found = result_of([*there, "there", "here"], CACHE / "models-there")
    returned = result_of([*here, "again", "there"], CACHE / "models-here")
    compare(expected["own"], {
        "taught and predicted there": found["own"],
        "taught here, predicted there": found["other"],
        "taught there, predicted here": returned["other"],
    })  # fmt: skip
    seconds = time.perf_counter() - start
    machines = f"{expected['machine']} and {found['machine']}"
    print(f"{machines} were compared in {seconds:.0f} s, {ready:.0f} of them to set up")


def compare(expected: dict[str, list[Any]], runs: dict[str, dict[str, list[Any]]]) -> None:
    """Print the largest difference of each run, and exit with 1 if one is too large."""
    differs = False
    for (profile, own), (name, found) in product(expected.items(), runs.items()):
        unit = max(abs(score) for each in own for score in each["scores"].values())
        pairs = list(zip(own, found[profile], strict=True))
        equal = sum(a["labels"] == b["labels"] for a, b in pairs)
        largest = max(
            abs(score - b["scores"][label]) / unit
            for a, b in pairs
            for label, score in a["scores"].items()
        )
        print(f"{profile}, {name}: {equal} of {len(own)} labels equal, scores within {largest:.1e}")
        differs |= equal < len(own) or not largest <= TOLERANCES[profile]
    if differs:
        sys.exit(f"aarch64 differs: scores may differ by {TOLERANCES} of the largest one")


def result_of(command: list[str], models: Path) -> dict[str, Any]:
    """Run this file as below and return what it prints."""
    environment = os.environ | {"ROBOCLE_CACHE": str(models), "QEMU_CPU": CPU}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        command, stdout=subprocess.PIPE, env=environment, check=True, timeout=SECONDS
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


# ---- what runs on both machines


def run(folder: Path, own: str, other: str) -> None:
    """Teach and save a learner, and print its predictions and those of the other one's state."""
    from robocle import Learner

    result: dict[str, Any] = {"machine": platform.machine(), "own": {}, "other": {}}
    tested = [PICTURES / place / f"{label}_01" / "0.jpg" for label in LABELS for place in PLACES]
    for profile in TOLERANCES:
        learner = Learner(profile=profile)
        for label in LABELS:
            for path in sorted(PICTURES.glob(f"clean/{label}_01/*.jpg"))[:2]:
                learner.teach(path, label)
        learner.save(folder / f"{own}-{profile}.robocle")
        embeddings = [learner.embed_for_prediction(path) for path in tested]
        result["own"][profile] = predictions(learner, embeddings)
        if other:
            loaded = Learner.load(folder / f"{other}-{profile}.robocle", learner.backbone)
            result["other"][profile] = predictions(loaded, embeddings)
    print(json.dumps(result))


def predictions(learner: Any, embeddings: list[Any]) -> list[dict[str, Any]]:
    """Return labels and scores of each picture."""
    found = [learner.predict_embedding(each) for each in embeddings]
    return [{"labels": [each.label, each.nearest], "scores": dict(each.scores)} for each in found]


# ---- the emulated machine


def emulated_python(cache: Path) -> list[str]:
    """Return the command that runs a Python for aarch64 with robocle's dependencies.

    Raises:
        UnavailableError: It cannot be set up on this machine.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise UnavailableError(f"it runs on Linux on x86_64, not on {platform.machine()}")
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnavailableError(f"there is no {program} on this machine")
    root = cache / "root"
    if not (cache / "unpacked").exists():
        shutil.rmtree(cache, ignore_errors=True)
        unpack_packages(cache, "amd64", ["download", "qemu-user-static"], cache / "qemu")
        install = ["install", "--download-only", "--no-install-recommends", "--yes"]
        unpack_packages(cache, "arm64", [*install, "python3", "libstdc++6"], root)
        complete_root(root)
        (cache / "unpacked").touch()
    python = (root / "usr" / "bin" / "python3").resolve()
    site = install_libraries(cache, python.name.removeprefix("python"))
    qemu = cache / "qemu" / "usr" / "bin" / "qemu-aarch64-static"
    home, path = f"PYTHONHOME={root}/usr", f"PYTHONPATH={ROOT}/src:{site}"
    return [str(qemu), "-L", str(root), "-E", home, "-E", path, str(python)]


def unpack_packages(cache: Path, architecture: str, words: list[str], target: Path) -> None:
    """Download Debian packages with apt, in folders of our own, and unpack them."""
    apt = cache / f"apt-{architecture}"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "state" / "status").touch()  # nothing is installed there
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Dir::State": f"{apt}/state",
        "Dir::State::status": f"{apt}/state/status",
        "Dir::Cache": f"{apt}/cache",
        "Debug::NoLocking": "true",
        "APT::Sandbox::User": "",
    }
    command = ["apt-get", "-qq", *(f"-o{key}={value}" for key, value in options.items())]
    attempt([*command, "update"], "apt cannot read its sources")
    complaint = f"apt cannot download {words[-1]} for {architecture}"
    attempt([*command, *words], complaint, apt / "cache" / "archives")
    target.mkdir()
    for file in sorted((apt / "cache" / "archives").glob("*.deb")):
        attempt(["dpkg-deb", "-x", str(file), str(target)], f"{file.name} cannot be unpacked")
    shutil.rmtree(apt)


def complete_root(root: Path) -> None:
    """Add what no package brings: links of the merged /usr, and the description of a processor."""
    for name in ("lib", "bin"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc" / "cpuinfo").write_text(CPU_INFO, "utf-8")


def install_libraries(cache: Path, version: str) -> Path:
    """Install the dependencies of robocle for aarch64, and return their folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted: list[str] = project["dependencies"]
    key = hashlib.sha256("\n".join([version, *wanted]).encode()).hexdigest()[:8]
    site = cache / f"site-{key}"
    if not (site / "complete").exists():
        shutil.rmtree(site, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}"]
        command += [f"--platform={each}" for each in PLATFORMS]
        attempt([*command, *wanted], "pip has no wheels for aarch64")
        (site / "complete").touch()
    return site


def attempt(command: list[str], complaint: str, folder: Path | None = None) -> None:
    """Run a command that may fail on this machine.

    Raises:
        UnavailableError: It failed; the message ends with its last line.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UnavailableError(f"{complaint} ({last})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(Path(sys.argv[2]), *sys.argv[3:])
    else:
        main()
