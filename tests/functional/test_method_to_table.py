"""The page about plug-ins leads from a method to a table: its files are installed and run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


@pytest.mark.slow
def test_the_files_of_the_page_become_a_table(objects: Path, tmp_path: Path) -> None:
    text = (
        PAGE.read_text("utf-8").partition("## From a method to a table\n")[2].partition("\n## ")[0]
    )
    blocks = re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"^[^`\n]*`(\S+\.(?:py|toml))` (?:is|makes)", text, re.MULTILINE)
    assert sorted(names) == ["first_sample.py", "mine.toml", "pyproject.toml"]
    for name, block in zip(("first_sample.py", "pyproject.toml", "mine.toml"), blocks, strict=True):
        (tmp_path / name).write_text(block)
    install, check, look, bench = re.findall(
        r"^    (\S.*)$", text.rpartition("```")[2], re.MULTILINE
    )
    assert install == "pip install -e ."
    site = tmp_path / "site"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(tmp_path)], check=True)
    (tmp_path / "pictures").symlink_to(objects)

    printed = [run(line, site, tmp_path) for line in (check, look, bench)]
    assert "class_iid:shots=1   yes: 2 pictures taught, 6 tested" in printed[1]
    assert "4 of 4 trials run" in printed[2]
    table = (tmp_path / "results" / "mine.md").read_text("utf-8")
    assert re.search(r"^\| first sample +\| ", table, re.MULTILINE)
    assert re.search(r"^\| gain over NCM +\| ", table, re.MULTILINE)
    assert "4 trials on 2 orderings." in table


def run(line: str, site: Path, folder: Path) -> str:
    """Run a command of the page with the package installed."""
    program, *arguments = shlex.split(line)
    module = [] if program == "python" else ["-m", program]
    cache = {"PYTHONPATH": str(site), "ROBOCLE_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *module, *arguments],
        cwd=folder, env=os.environ | cache, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
