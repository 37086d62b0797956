"""The teach page's server: `python benchmarks/bench_serve.py`.

The server is a process of its own. Its overhead per frame is what it computes beyond what the
learner computes for the same picture in this process, which includes decoding. Its delay is the
time from sending a frame to its answer, less the same. Both are measured in turns. The delay needs
an idle machine: a frame passes two processes and three threads, and each may have to wait.
"""

import argparse
import asyncio
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring import finish, report, seconds, workload
from websockets.asyncio.client import ClientConnection, connect
from websockets.sync.client import connect as connect_sync

import robocle
from robocle.demo import home_pictures

LABELS, SHOTS = 10, 5
CLIENTS = 32
OVERHEAD_MS = 3.0
BROWSER_RATE = 20.0
BROWSER_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream=fps=60",
)  # fmt: skip


class Server:
    """The process, and a learner in this process that was taught the same."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self.live = f"ws://127.0.0.1:{port}/api/v1/live"
        self.port = port

    @property
    def megabytes(self) -> float:
        """The memory of the process, on Linux; 0 elsewhere."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text("utf-8").split()[1])
        except OSError:
            return 0.0
        return pages * 4096 / 1e6

    @property
    def cpu_seconds(self) -> float:
        """The time on a processor of all threads of the process, on Linux; 0 elsewhere."""
        found = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text("utf-8").split()[0]) for each in found) / 1e9

    def predictions(self) -> int:
        """Return how many frames were answered since the start."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            text = answer.read().decode()
        return int(float(text.split("robocle_prediction_seconds_count ")[1].split()[0]))


@contextmanager
def serving(state: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "robocle", "serve", str(state), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].strip()
        yield Server(process, int(address.rstrip("/").rpartition(":")[2]))
    finally:
        process.terminate()
        process.communicate(timeout=30)


def taught(state: Path) -> tuple[robocle.Learner, bytes]:
    """Teach a state, and return its learner and a picture of a taught object."""
    pictures = [each for each in home_pictures() if each.is_taught]
    labels = sorted({each.category for each in pictures})[:LABELS]
    with robocle.Learner.open(state) as learner:
        for each in pictures:
            if each.category in labels:
                learner.teach(each.path, each.category, poor="accept")
    test = next(e for e in home_pictures() if e.category == labels[0] and not e.is_taught)
    return robocle.Learner.load(state), test.path.read_bytes()


def overhead(server: Server, learner: robocle.Learner, picture: bytes, rounds: int) -> None:
    """Report what the server adds to decoding and the learner."""
    workload(f"one client, {LABELS} labels, frames of {len(picture) / 1e3:.0f} kB")
    message = b'{"id": 1}\n' + picture
    with connect_sync(server.live) as live:

        def ask() -> str:
            live.send(message)
            while True:
                answer = json.loads(live.recv())
                if answer["event"] == "prediction":
                    return str(answer["confidences"][0][0])

        assert ask() == learner.predict(picture).nearest
        best = [float("inf"), float("inf")]
        busy = [0.0, 0.0]
        for _ in range(rounds):
            here, there = time.process_time(), server.cpu_seconds
            best[0] = min(best[0], seconds(lambda: learner.predict(picture)))
            busy[0] += time.process_time() - here
            best[1] = min(best[1], seconds(ask))
            busy[1] += server.cpu_seconds - there
    alone, served = (1e3 * each / rounds for each in busy)
    detail = f"the learner alone {alone:.1f} ms of a processor, the server {served:.1f} ms"
    report("overhead", served - alone, OVERHEAD_MS, at_least=False, unit=" ms", detail=detail)
    direct, asked = best
    detail = f"{1e3 * direct:.1f} ms to the answer alone, {1e3 * asked:.1f} ms through the server"
    added = 1e3 * (asked - direct)
    report("delay", added, OVERHEAD_MS, at_least=False, unit=" ms", detail=detail)


async def frames(live: ClientConnection, picture: bytes, number: int) -> list[float]:
    """Send frames, each after the answer to the one before, and return their times."""
    times = []
    for each in range(number):
        start = time.perf_counter()
        await live.send(b'{"id": %d}\n' % each + picture)
        while True:
            answer = json.loads(await live.recv())
            assert answer["event"] != "error", answer
            if answer["event"] == "prediction":
                assert answer["id"] == each
                break
        times.append(time.perf_counter() - start)
    return times


async def many(server: Server, picture: bytes, clients: int, number: int) -> list[list[float]]:
    """Let clients send frames at the same time, and return the times of each."""
    lives = await asyncio.gather(*(connect(server.live) for _ in range(clients)))
    try:
        return await asyncio.gather(*(frames(live, picture, number) for live in lives))
    finally:
        await asyncio.gather(*(live.close() for live in lives))


def together(server: Server, picture: bytes, number: int) -> None:
    workload(f"{CLIENTS} clients at once")
    alone = statistics.median(asyncio.run(many(server, picture, 1, 2 * number))[0])
    found = asyncio.run(many(server, picture, CLIENTS, number))
    middle = statistics.median(time for times in found for time in times)
    detail = f"median {1e3 * alone:.1f} ms alone, {1e3 * middle:.0f} ms with {CLIENTS}; no error"
    growth = middle / (CLIENTS * alone)
    report("latency against linear growth", growth, 1.1, at_least=False, detail=detail)
    totals = [sum(times) for times in found]
    report("slowest client against the fastest", max(totals) / min(totals), 1.25, at_least=False)


def memory(server: Server, picture: bytes, number: int) -> None:
    workload(f"{number} frames")
    clients = 4
    asyncio.run(many(server, picture, clients, number // (5 * clients)))
    before = server.megabytes
    asyncio.run(many(server, picture, clients, (number - number // 5) // clients))
    detail = f"{before:.0f} MB after a fifth of them, {server.megabytes:.0f} MB after all"
    grown = server.megabytes - before
    report("growth of memory", grown, 5.0, at_least=False, unit=" MB", detail=detail)


def stalled(server: Server, picture: bytes, number: int) -> None:
    workload("a client beside one that sends a frame and never reads")
    best = [float("inf"), float("inf")]
    for _ in range(3):
        best[0] = min(best[0], *asyncio.run(many(server, picture, 1, number))[0])
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            _stall(raw, server.port, picture)
            best[1] = min(best[1], *asyncio.run(many(server, picture, 1, number))[0])
    report("latency beside it against alone", best[1] / best[0], 1.15, at_least=False)


def _stall(raw: socket.socket, port: int, picture: bytes) -> None:
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.sendall(
        f"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    content = b'{"id": 1}\n' + picture
    raw.sendall(b"\x82\xfe" + len(content).to_bytes(2, "big") + bytes(4) + content)


def through_browser(server: Server, picture: bytes, lasting: float) -> None:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        print("no Chromium: the page is not measured")
        return
    from playwright.sync_api import sync_playwright

    workload("the page in Chromium, with a simulated camera of 640x480")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(BROWSER_OPTIONS))
        page = browser.new_page()
        page.goto(server.url)
        page.wait_for_selector("#bars li", timeout=60_000)
        before, start = server.predictions(), time.perf_counter()
        time.sleep(lasting)
        rate = (server.predictions() - before) / (time.perf_counter() - start)
        browser.close()
    times = asyncio.run(many(server, picture, 1, int(10 * lasting)))[0]
    limit = len(times) / sum(times)
    detail = f"one client without a browser has {limit:.0f} per second, with what else runs here"
    least = min(BROWSER_RATE, limit)
    report("predictions per second", rate, least, at_least=True, unit="/s", detail=detail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few frames: agreement only")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "bench.robocle"
        learner, picture = taught(state)
        with serving(state) as server:
            overhead(server, learner, picture, 30 if quick else 300)
            together(server, picture, 3 if quick else 20)
            memory(server, picture, 400 if quick else 10_000)
            stalled(server, picture, 10 if quick else 100)
            through_browser(server, picture, 2 if quick else 10)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
