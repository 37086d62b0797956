"""A page, commands and another program teach one state at once: no lesson is lost, none twice."""

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from command_line import counts_of, run, run_subprocess
from home_pictures import home_picture
from waiting import wait_for
from web_client import ServeProcess, listening

SECONDS = 6.0
THIRD = """
import sys, time
from robocle import Learner, NotLastStepError
path, picture, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
taught = refused = 0
with Learner.open(path) as learner:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        learner.teach(picture, "third", poor="accept")
        taught += 1
        assert learner.counts["third"] == taught
        assert learner.predict(picture).nearest in learner.labels
        if taught % 3 == 0:
            with learner.step(token=f"mine {taught}"):
                learner.teach(picture, "third", poor="accept")
            taught += 1
            time.sleep(0.1)
            try:
                learner.undo(f"mine {taught - 1}")
                taught -= 1
            except NotLastStepError:
                refused += 1
print(taught, refused)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServeProcess]:
    """The teach page of a new state."""
    found = ServeProcess(tmp_path / "home.robocle")
    yield found
    if found.process.poll() is None:
        found.kill()


@pytest.mark.exhaustive
def test_all_lessons_of_three_programs_that_teach_at_once_are_kept(
    server: ServeProcess, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    taught: Counter[str] = Counter()
    shown: list[dict[str, int]] = []
    end = time.monotonic() + SECONDS

    def teach_on_the_page() -> None:
        picture = home_picture("clean/mug_01/0").read_bytes()
        while time.monotonic() < end:
            number = taught["page"]
            answer = server.api.teach("page", picture, poor="accept", lesson="a1", number=number)
            assert answer.status == 200, answer.json
            taught["page"] += 1
            assert answer.json["pictures"] == taught["page"]

    def teach_with_commands() -> None:
        picture = home_picture("clean/clock_01/0")
        while time.monotonic() < end:
            result = run_subprocess("teach", state, "command", picture, "--poor", "accept")
            assert result.returncode == 0, result.stderr
            taught["command"] += 1

    def look_at_the_page() -> None:
        with suppress(ConnectionClosed), listening(server.api) as page:
            while True:
                labels = page.event("state")["labels"]
                shown.append({each["label"]: each["pictures"] for each in labels})

    command = [sys.executable, "-c", THIRD, str(state), str(home_picture("clean/key_01/0"))]
    third = subprocess.Popen([*command, str(SECONDS)], stdout=subprocess.PIPE, text=True)
    work = (look_at_the_page, teach_on_the_page, teach_with_commands)
    looks, *teaches = [threading.Thread(target=each) for each in work]
    for thread in (looks, *teaches):
        thread.start()
    for thread in teaches:
        thread.join()
    printed, _ = third.communicate(timeout=60)
    assert third.returncode == 0
    taught["third"] = int(printed.split()[0])
    assert min(taught.values()) > 0
    wait_for(lambda: shown[-1] == taught, f"{taught} on the page")
    assert counts_of(state) == taught
    code, out, err = server.stop()
    assert (code, err) == (0, "")
    assert out.endswith("stopped; everything that was taught is saved\n")
    assert run("inspect", state).exit_code == 0
    looks.join()
