"""Ctrl-C and SIGTERM: one line that says what was kept, and no traceback."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import counts_of, run
from robocle import Learner
from robocle.cli.app import Interrupted, interruptible
from robocle.demo import home_pictures

PICTURES = 200
PATIENCE = 120  # seconds


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of label folders with 200 pictures in all."""
    root = tmp_path_factory.mktemp("many")
    clean = [picture for picture in home_pictures() if picture.condition == "clean"]
    for number, picture in enumerate(clean[:PICTURES]):
        (root / picture.category).mkdir(exist_ok=True)
        shutil.copy(picture.path, root / picture.category / f"{number:03}.jpg")
    return root


class Terminal:
    """A command whose stderr is a terminal, so that it shows its progress."""

    def __init__(self, *arguments: str | Path) -> None:
        self._reader, stderr = pty.openpty()
        termios.tcsetwinsize(stderr, (24, 80))
        command = [sys.executable, "-m", "robocle", *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stderr=stderr,
            stdout=subprocess.PIPE,
            env=os.environ | {"TERM": "xterm"},
        )
        os.close(stderr)
        self.seen = ""

    def wait_for(self, pattern: str) -> str:
        """Read what is shown until the pattern is found; return what matched."""
        while not (found := re.search(pattern, self.seen)):
            assert self._read(), f"{pattern} was never shown in {self.seen!r}"
        return found[0]

    def end(self) -> tuple[int, str]:
        """Wait for the end of the command; return its exit code and the last line it showed."""
        while self._read():
            pass
        os.close(self._reader)
        self.process.communicate()
        assert "Traceback" not in self.seen
        lines = [line for line in re.split(r"[\r\n]+|\x1b\[[AK]", self.seen) if "robocle:" in line]
        return self.process.returncode, lines[-1].strip()

    def _read(self) -> str:
        ready, _, _ = select.select([self._reader], [], [], PATIENCE)
        assert ready, f"the command has shown nothing for {PATIENCE} s since {self.seen!r}"
        try:
            new = os.read(self._reader, 4096).decode()
        except OSError:  # the command has ended
            return ""
        self.seen += new
        return new


KEPT = r"robocle: interrupted: taught the first (\d+) of 200 pictures, up to (\S+); `robocle undo"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_teach_keeps_the_pictures_that_were_embedded_and_says_which(
    number: signal.Signals, code: int, many: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    terminal = Terminal("teach", state, many)
    terminal.wait_for(r"embedding: .* [1-9]\d*/200")
    terminal.process.send_signal(number)
    found, line = terminal.end()
    assert found == code
    message = re.match(KEPT, line)
    assert message
    counts = counts_of(state)
    assert 0 < sum(counts.values()) == int(message[1]) < PICTURES
    expected = sorted(many.rglob("*.jpg"))[: int(message[1])]
    assert message[2] == str(expected[-1])
    assert set(counts) == {path.parent.name for path in expected}
    assert run("undo", state).exit_code == 0
    assert counts_of(state) == {}


@pytest.mark.slow
def test_an_interrupted_teach_with_a_bad_picture_teaches_nothing(
    many: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(many, tmp_path / "many")
    (folder / sorted(os.listdir(folder))[0] / "000-bad.jpg").write_bytes(b"")
    terminal = Terminal("teach", tmp_path / "home.robocle", folder)
    terminal.wait_for(r"reading the others: .*/200")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == (130, "robocle: interrupted: nothing was taught")
    assert not (tmp_path / "home.robocle").exists()


COMMANDS: dict[str, Callable[[Path, Path], list[str | Path]]] = {
    "teach": lambda state, many: ["teach", state, many],
    "predict": lambda state, many: ["predict", state, many],
    "check": lambda state, many: ["check", many, "--state", state],
    "demo": lambda state, many: ["demo", "--out", state.with_name("demo.html")],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "moment"),
    [
        *(pytest.param(verb, "loading", id=f"{verb}, loading") for verb in ("teach", "predict")),
        *(pytest.param(verb, r"\d/\d", id=f"{verb}, working") for verb in COMMANDS),
    ],
)
def test_every_command_ends_with_one_line(
    verb: str, moment: str, state: Path, taught: bytes, many: Path
) -> None:
    terminal = Terminal(*COMMANDS[verb](state, many))
    terminal.wait_for(moment)
    terminal.process.send_signal(signal.SIGINT)
    code, line = terminal.end()
    assert code == 130
    assert line.startswith("robocle: interrupted")
    assert state.read_bytes() == taught or line.startswith("robocle: interrupted: taught the first")


def test_ctrl_c_while_the_command_is_imported_ends_with_one_line() -> None:
    # The handler is installed before anything else is imported.
    program = """if True:
        import os, signal, sys
        import robocle.__main__
        class Interrupting:
            def find_spec(self, name, path=None, target=None):
                if name == "robocle.cli":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Interrupting())
        robocle.__main__.run()
    """
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (result.returncode, result.stdout) == (130, b"")
    assert result.stderr == b"robocle: interrupted\n"


def test_an_interruption_that_a_library_turned_into_another_error_is_one(
    state: Path, objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def library(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr("robocle.learner.embedding.read", library)
    result = run("predict", state, objects / "ball" / "0.jpg")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "robocle: interrupted\n"


def test_the_handlers_of_a_program_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted), interruptible():
        os.kill(os.getpid(), signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_while_pictures_are_written_ends_after_all_of_them(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach = Learner.teach_embeddings

    def interrupted_teach(self: Learner, *arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        teach(self, *arguments)

    monkeypatch.setattr(Learner, "teach_embeddings", interrupted_teach)
    state = tmp_path / "home.robocle"
    result = run("teach", state, objects)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == (
        f"robocle: interrupted: taught the first 8 of 8 pictures, up to {objects / 'box/3.jpg'}; "
        f"`robocle undo {state}` reverts that\n"
    )
    assert counts_of(state) == {"ball": 4, "box": 4}


def test_a_second_signal_before_the_first_picture_is_taught_teaches_nothing(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robocle.images.gate import QualityGate
    from robocle.learner.embedding import Embedder

    embed = Embedder.embed_each

    def interrupted_embed(self: Embedder, *arguments: Any, **options: Any) -> Iterator[Any]:
        for number, outcome in enumerate(embed(self, *arguments, **options)):
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield outcome

    def interrupted_check(self: QualityGate, *_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Embedder, "embed_each", interrupted_embed)
    result = run("teach", tmp_path / "once.robocle", objects)
    assert "interrupted: taught the first 3 of 8 pictures" in result.stderr
    monkeypatch.setattr(QualityGate, "check", interrupted_check)
    result = run("teach", tmp_path / "twice.robocle", objects)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "robocle: interrupted: nothing was taught\n"
    assert not (tmp_path / "twice.robocle").exists()
