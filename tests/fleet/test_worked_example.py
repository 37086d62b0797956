"""The commands of docs/fleet.md, word for word, with a real server and the default parts."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from command_line import counts_of
from home_pictures import HOME
from nats_server import NatsServer, requires_nats
from robocle.fleet.server import PASSWORD_VARIABLE
from waiting import wait_for

PAGE = (Path(__file__).parents[2] / "docs/fleet.md").read_text("utf-8")
COMMAND = re.compile(r"^    (\w+)\$ +robocle (.*?)(?: +#.*)?$", re.MULTILINE)


@requires_nats
@pytest.mark.slow
def test_the_worked_example_works_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    for name in ("KITCHEN", "OFFICE", "HALL", "OPERATOR", PASSWORD_VARIABLE):
        monkeypatch.setenv(name, "sesame")
    for place in ("kitchen", "office", "hall", "home"):
        for label in ("mug", "cup"):
            shutil.copytree(HOME / f"clean/mug_0{1 + (label == 'cup')}", tmp_path / place / label)
        shutil.copy(HOME / "clean/mug_01/0.jpg", tmp_path / place / "desk.jpg")
    example, _, rest = PAGE.partition("## Sharing options")
    commands = COMMAND.findall(example.partition("## Worked example")[2])
    commands += [each for each in COMMAND.findall(rest) if each[1].startswith("fleet ")]
    assert len(commands) >= 11
    server_config = config.replace("/var/lib/nats", str(tmp_path / "nats"))
    with NatsServer(tmp_path, server_config) as server, ExitStack() as stack:
        joined: list[Path] = []
        for place, arguments in commands:
            line = arguments.replace("home.local", server.url.removeprefix("nats://"))
            line = line.replace("@120", "@1").replace("@240", "@2")  # the log is short
            command = f"exec {sys.executable} -m robocle {line}"
            if "fleet join" in line:
                process = subprocess.Popen(
                    command, shell=True, cwd=tmp_path / place, stdout=subprocess.PIPE, text=True,
                    env=os.environ,
                )  # fmt: skip
                stack.callback(process.wait)
                stack.callback(process.kill)
                assert process.stdout
                stack.enter_context(process.stdout)
                assert any("up to date" in each for each in process.stdout)
                joined.append(tmp_path / place / f"{place}.robocle")
                continue
            found = subprocess.run(
                command, shell=True, cwd=tmp_path / place, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert found.returncode == 0, (line, found.stderr)
            if "predict" in line:
                assert "mug" in found.stdout
            wait_for(lambda: len({str(counts_of(each)) for each in joined}) < 2, line)
        assert set(counts_of(joined[0])) == {"mug"}
