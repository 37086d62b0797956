"""The documents keep up with the code: what is not documented fails a test here."""

import inspect
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import robocle
from robocle.backbones import BACKBONES
from robocle.backbones.efficientnet_lite import PUBLISHED
from robocle.backbones.names import ARCHITECTURES
from robocle.classifiers import CLASSIFIERS
from robocle.cli import main
from robocle.errors import RobocleError
from robocle.evaluation.corruptions import CORRUPTIONS
from robocle.evaluation.datasets import DATASETS
from robocle.evaluation.metrics import METRICS
from robocle.evaluation.scenarios import SCENARIOS
from robocle.finders import FINDERS
from robocle.images.views import VIEWS
from robocle.poolings import POOLINGS
from robocle.registry import Registry

ROOT = Path(__file__).parents[1]
PAGES: dict[str, Registry[Any]] = {
    "backbones.md": BACKBONES,
    "poolings.md": POOLINGS,
    "classifiers.md": CLASSIFIERS,
    "corruptions.md": CORRUPTIONS,
    "datasets.md": DATASETS,
    "scenarios.md": SCENARIOS,
    "views.md": VIEWS,
    "finders.md": FINDERS,
}
ENTRIES = [(page, name) for page, table in PAGES.items() for name in table.builtin()]


def sections(page: str) -> dict[str, str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("page", "name"), ENTRIES)
def test_every_part_has_a_section_that_shows_its_spec_and_names_its_options(
    page: str, name: str
) -> None:
    section = sections(page).get(name)
    assert section, f"docs/{page} has no section '## {name}'"
    assert re.search(rf"`{name}[:`]", section)
    for option in PAGES[page].defaults(name):
        assert re.search(rf"\b{option}\b", section), f"{name}'s option {option} is not documented"


@pytest.mark.parametrize(("page", "name"), ENTRIES)
def test_every_spec_in_the_documents_can_be_built(page: str, name: str) -> None:
    table = PAGES[page]
    for spec in re.findall(rf"`({name}(?::[a-z_]+=[^`]*)?)`", sections(page).get(name, "")):
        table.build(spec)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_table_of_the_papers_networks_is_true(name: str) -> None:
    known = ARCHITECTURES[name]
    token = ", class token" if known.has_token else ""
    size = f"{known.side} x {known.side} x {known.channels}{token}"
    earlier = f"{known.earlier_side} x {known.earlier_side} x {known.earlier_channels}"
    row = f"| `{name}` | {known.input_size} | {size} | {earlier} | {known.megabytes} |"
    assert row in sections("backbones.md")["The paper's sixteen networks"].splitlines()


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_table_of_the_built_in_networks_is_true(name: str) -> None:
    network = PUBLISHED[name]
    facts = network.manifest
    side, earlier_side = math.isqrt(facts.positions), math.isqrt(facts.earlier_positions)
    row = (
        f"| `{name}` | {facts.input_size} | {side} x {side} x {facts.channels} | "
        f"{earlier_side} x {earlier_side} x {facts.earlier_channels} | {network.megabytes} |"
    )
    assert row in sections("backbones.md")["efficientnet_lite2"].splitlines()


def test_the_documents_describe_no_part_that_is_not_there() -> None:
    for page, table in PAGES.items():
        titles = {title for title in sections(page) if re.fullmatch(r"[a-z0-9_]+", title)}
        assert titles == set(table.builtin())


def commands(group: click.Group, name: str = "robocle") -> Iterator[str]:
    for key, command in group.commands.items():
        yield f"{name} {key}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {key}")


@pytest.mark.parametrize("command", list(commands(main)))
def test_every_command_is_documented(command: str) -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert any(command in page.read_text("utf-8") for page in pages)


def in_reference(target: str) -> bool:
    """Whether the API reference has an object or a module that it belongs to."""
    pages = " ".join(path.read_text("utf-8") for path in (ROOT / "docs/api").glob("*.md"))
    documented = re.findall(r"^::: (\S+)$", pages, flags=re.MULTILINE)
    return any(f"{target}.".startswith(f"{name}.") for name in documented)


@pytest.mark.parametrize("name", robocle.__all__)
def test_every_public_name_is_in_the_api_reference(name: str) -> None:
    public = getattr(robocle, name)
    assert in_reference(f"{public.__module__}.{public.__qualname__}")
    assert inspect.getdoc(public)


def imports_in(page: str) -> Iterator[str]:
    """Yield the names of robocle that the Python code of a page imports or uses."""
    statement = re.compile(r"^ *from (robocle[\w.]*) import ([\w, ]+)$", re.MULTILINE)
    for module, names in statement.findall(page):
        yield from (f"{module}.{name.strip()}" for name in names.split(","))
    for code in re.findall(r"^```python.*?^```", page, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"(?<![\w./\"])robocle\.[A-Za-z]\w*", statement.sub("", code))


PAGES_OF_IMPORTS = {
    name: path.name
    for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    for name in imports_in(path.read_text("utf-8"))
}


@pytest.mark.parametrize("imported", PAGES_OF_IMPORTS)
def test_everything_that_a_page_imports_is_public_and_in_the_api_reference(imported: str) -> None:
    module, _, name = imported.rpartition(".")
    public = getattr(import_module(module), name)
    homes = [imported, f"{getattr(public, '__module__', '')}.{getattr(public, '__name__', '')}"]
    assert any(map(in_reference, homes)), f"{PAGES_OF_IMPORTS[imported]} imports {imported}"
    assert module != "robocle" or name in robocle.__all__
    assert "._" not in imported


def test_importing_every_public_name_needs_no_extra() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(['sklearn', 'cv2', 'paho', 'torch']));"
    code += "from robocle import *; print(Learner.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Learner\n"


def error_classes() -> list[type[Exception]]:
    found = vars(robocle.errors).values()
    return [each for each in found if isinstance(each, type) and issubclass(each, RobocleError)]


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__name__)
def test_every_error_is_in_the_api_reference_and_in_the_tree(error: type[Exception]) -> None:
    assert in_reference(f"{error.__module__}.{error.__qualname__}")
    assert error.__doc__
    assert re.search(rf"\b{error.__name__}\b", robocle.errors.__doc__ or "")


@pytest.mark.parametrize(("page", "name"), ENTRIES)
def test_every_part_is_in_the_api_reference(page: str, name: str) -> None:
    assert in_reference(PAGES[page]._builtin[name].replace(":", "."))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name: str) -> None:
    text = (ROOT / "docs/metrics.md").read_text("utf-8")
    assert f"`{name}`" in text, f"docs/metrics.md does not name {name}"


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_paths_in_the_documents_exist() -> None:
    folders = "src|tests|tools|benchmarks|experiments|examples|ros|docs"
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        if path.name != "CHANGELOG.md":
            for named in re.findall(rf"`((?:{folders})/[\w./-]+)`", path.read_text("utf-8")):
                assert (ROOT / named).exists(), f"{path.name} names {named}"


def test_parts_lists_every_part_with_one_line_that_says_what_it_is() -> None:
    output = CliRunner().invoke(main, ["parts"]).output
    for table in PAGES.values():
        for name in table.names():
            assert re.search(rf"^  {name} +\w.{{10,}}$", output, flags=re.MULTILINE)


def test_contributing_lists_everything_at_the_top_of_the_package() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Repository layout")[2]
    listed = set(re.findall(r"^      (\w+(?:/|\.py)) ", layout, re.MULTILINE))
    package = ROOT / "src" / "robocle"
    rooms = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").is_file()}
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert listed == rooms | modules
