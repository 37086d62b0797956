"""Experiments: a TOML file that says what is compared on what.

    title = "..."
    paper = "table5"                       # whose numbers stand beside ours, if it is the paper's

    [[studies]]
    name = "OpenLORIS-small"
    dataset = "openloris"
    scenario = "low_shot_instance"
    backbones = ["resnet50", "vit_b_16"]
    seeds = [0, 1, 2, 3, 4]                # five orderings
    taught = ["clean"]                     # corruptions to teach under, and to ask under
    tested = ["clean"]
    paper = { data = "openloris_small" }   # where in the paper's table

    [[methods]]
    name = "SLDA"
    pooling = "avg"
    classifier = "slda:scatter=published,shrinkage=1e-4"
    views = "plain"                        # what is made of a picture that is taught
    over = "NCM"                           # the room-aware gain is over this one
    paper = { method = "slda" }

Every method is run on every study, with every backbone, taught corruption and seed. To run the
methods of another experiment, name it: methods = "comparison".
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from robocle.errors import SpecError
from robocle.evaluation.trial import Trial
from robocle.spec import suggestion


@dataclass(frozen=True)
class Method:
    """A pooling and a classifier under the name that tables show."""

    name: str
    pooling: str
    classifier: str
    views: str = "plain"
    over: str = ""
    """The method whose accuracy this one's gain is measured against."""
    paper: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Study:
    """Data, streams and conditions that every method meets."""

    name: str
    dataset: str
    scenario: str
    backbones: tuple[str, ...] = ("efficientnet_lite0",)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    taught: tuple[str, ...] = ("clean",)
    tested: tuple[str, ...] = ("clean",)
    paper: Mapping[str, str] = field(default_factory=dict, hash=False)

    def trials(self, method: Method, root: str) -> Iterator[Trial]:
        """All trials of a method in this study."""
        for backbone in self.backbones:
            for taught in self.taught:
                for seed in self.seeds:
                    yield Trial(
                        self.dataset,
                        root,
                        self.scenario,
                        seed,
                        backbone,
                        method.pooling,
                        method.classifier,
                        taught,
                        self.tested,
                        views=method.views,
                    )


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says."""

    title: str
    studies: tuple[Study, ...]
    methods: tuple[Method, ...]
    paper: str = ""
    shows: tuple[str, ...] = ("accuracy",)

    @property
    def examines(self) -> bool:
        """Whether it shows how sure a method is."""
        return "unknown" in self.shows

    @property
    def asks_each_step(self) -> bool:
        """Whether anything that is shown needs more than the end."""
        return not {"metrics", "per_step"}.isdisjoint(self.shows)

    def changed(self, **changes: Any) -> "Experiment":
        """The same experiment on other data, backbones or orderings: studies with these changes."""
        given = {key: value for key, value in changes.items() if value}
        studies = dict.fromkeys(_moved(study, given) for study in self.studies)
        return replace(self, studies=tuple(studies)) if given else self


def _moved(study: Study, given: dict[str, Any]) -> Study:
    """On other data or streams it is another study, and none of the paper's."""
    moved = replace(study, **given)
    if {"dataset", "scenario"} & given.keys():
        return replace(moved, name=f"{moved.dataset}, {moved.scenario}", paper={})
    return moved


SHOWS = ("accuracy", "metrics", "per_step", "matrix", "cost", "moments", "unknown")


def load_experiment(name: str) -> Experiment:
    """An experiment by its file, or by the name of one that comes with robocle."""
    path = _find(name)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot read the experiment {path}: {error}") from error
    try:
        return _parsed(content)
    except (TypeError, KeyError, AttributeError) as error:
        raise SpecError(f"{path} is not an experiment: {error}") from error


def experiment_names() -> dict[str, Path]:
    """The experiments that come with robocle."""
    package = Path(str(files("robocle")))
    for folder in (package / "experiments", package.parents[1] / "experiments"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def _find(name: str) -> Path:
    if name.endswith(".toml"):
        return Path(name)
    known = experiment_names()
    if name not in known:
        raise SpecError(f"no experiment {name!r}: {suggestion(name, known)}, or give a .toml file")
    return known[name]


def _parsed(content: dict[str, Any]) -> Experiment:
    studies = tuple(Study(**_frozen(study)) for study in content.pop("studies"))
    methods = _methods(content.pop("methods", []))
    experiment = Experiment(studies=studies, methods=methods, **_frozen(content))
    for study in studies:
        for field_name in ("backbones", "seeds", "taught", "tested"):
            if not isinstance(getattr(study, field_name), tuple):
                raise SpecError(f"{field_name} of the study {study.name!r} must be a list")
    for show in experiment.shows:
        if show not in SHOWS:
            raise SpecError(f"cannot show {show!r}: {suggestion(show, SHOWS)}")
    return experiment


def _methods(given: list[dict[str, Any]] | str) -> tuple[Method, ...]:
    """Those that stand in the file, or, by its name, those of another experiment."""
    if isinstance(given, str):
        return load_experiment(given).methods
    return tuple(Method(**_frozen(method)) for method in given)


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
