"""Experiments: a TOML file that lists the methods to compare and the data to compare them on.

    title = "..."
    paper = "table5"                       # the table of the paper to compare with, if any
    shows = ["accuracy", "cost"]           # the tables and plots of the report

    [[studies]]
    name = "OpenLORIS-small"
    dataset = "openloris"
    scenario = "low_shot_instance"
    backbones = ["resnet50", "vit_b_16"]
    seeds = [0, 1, 2, 3, 4]                # five orderings
    taught = ["clean"]                     # corruptions of the taught pictures
    tested = ["clean"]                     # corruptions of the test pictures
    paper = { dataset = "openloris_small" }  # where in the paper's table

    [[methods]]
    name = "SLDA"
    pooling = "avg"
    classifier = "slda:scatter=published,shrinkage=1e-4"
    views = "plain"                        # the views of a taught picture
    prediction_views = "plain"             # the views of a test picture
    over = "NCM"                           # the method that the gain is computed over
    paper = { method = "slda" }

Every method is run on every study, with every backbone, taught corruption and seed. To use the
methods of another experiment, give its name: methods = "comparison".
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from robocle.errors import SpecError
from robocle.evaluation.experiment_fields import (
    Readers,
    items,
    record_of,
    seeds,
    table_of_texts,
    text,
    texts,
)
from robocle.evaluation.paper import PAPER_TABLES, paper_number
from robocle.evaluation.trial import Trial
from robocle.spec import suggestion

Show = Literal[
    "accuracy", "feature_size", "metrics", "per_step", "matrix", "cost", "moments", "unknown"
]
"""A group of tables, columns or plots in a report."""
SHOWS: tuple[Show, ...] = get_args(Show)
PAPER_KEYS = ("dataset", "method", "pooling")
"""What tells where in a table of the paper a study or a method is."""


def _paper(given: object, name: str) -> dict[str, str]:
    found = table_of_texts(given, name)
    for key in found:
        if key not in PAPER_KEYS:
            raise SpecError(f"{name} has the unknown key {key!r}: {suggestion(key, PAPER_KEYS)}")
    return found


READERS: Readers = {
    **dict.fromkeys(["title", "name", "dataset", "scenario", "pooling", "classifier"], text),
    **dict.fromkeys(["views", "prediction_views", "over"], text),
    **dict.fromkeys(["backbones", "taught", "tested"], texts),
    "seeds": seeds,
    "paper": _paper,
}
"""What reads each field of a study or a method."""


@dataclass(frozen=True)
class Method:
    """A pooling, a classifier and views, under the name that tables show."""

    name: str
    pooling: str
    classifier: str
    views: str = "plain"
    prediction_views: str = "plain"
    over: str = ""
    """The method that this one's gain is computed over."""
    paper: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Study:
    """The data, streams and conditions that every method is run on."""

    name: str
    dataset: str
    scenario: str
    backbones: tuple[str, ...] = ("efficientnet_lite0",)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    taught: tuple[str, ...] = ("clean",)
    tested: tuple[str, ...] = ("clean",)
    paper: Mapping[str, str] = field(default_factory=dict, hash=False)

    def trials(self, method: Method, root: str) -> Iterator[Trial]:
        """Yield all trials of a method in this study.

        Args:
            method: The method.
            root: The folder of the data set.
        """
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
                        prediction_views=method.prediction_views,
                    )


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment file."""

    title: str
    studies: tuple[Study, ...]
    methods: tuple[Method, ...]
    paper: str = ""
    shows: tuple[Show, ...] = ("accuracy",)

    @property
    def needs_open_set(self) -> bool:
        """Whether the report shows confidence and unknown objects."""
        return "unknown" in self.shows

    @property
    def needs_each_step(self) -> bool:
        """Whether the report shows more than the accuracy at the end of a stream."""
        return not {"metrics", "per_step"}.isdisjoint(self.shows)

    def changed(self, **changes: Any) -> "Experiment":
        """Return the same experiment on other data, backbones or orderings.

        Args:
            changes: New values for fields of the studies. Empty values change nothing.
        """
        given = {key: value for key, value in changes.items() if value}
        studies = dict.fromkeys(_changed_study(study, given) for study in self.studies)
        return replace(self, studies=tuple(studies)) if given else self


def _changed_study(study: Study, given: dict[str, Any]) -> Study:
    """Return a study with changes. On other data or streams it is not one of the paper's."""
    changed = replace(study, **given)
    if {"dataset", "scenario"} & given.keys():
        return replace(changed, name=f"{changed.dataset}, {changed.scenario}", paper={})
    return changed


def load_experiment(name: str) -> Experiment:
    """Return an experiment.

    Args:
        name: A .toml file, or the name of an experiment that comes with robocle.

    Raises:
        SpecError: There is no such experiment, or the file is not an experiment.

    Example:
        >>> load_experiment("table6").shows
        ('metrics', 'per_step')
    """
    return _loaded(name, ())


def _loaded(name: str, referring: tuple[Path, ...]) -> Experiment:
    """Return an experiment to which other files refer for its methods."""
    path = _find(name)
    chain = (*referring, path)
    if path.resolve() in [each.resolve() for each in referring]:
        raise SpecError(f"these experiments refer to each other: {' -> '.join(map(str, chain))}")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"cannot read the experiment {path}: {error}") from error
    try:
        return _parsed(content, chain)
    except SpecError as error:
        raise SpecError(f"{path} is not an experiment: {error}") from error


def experiment_names() -> dict[str, Path]:
    """Return the experiments that come with robocle, and their files."""
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


def _parsed(content: dict[str, Any], chain: tuple[Path, ...]) -> Experiment:
    """Return the experiment of a file, the last of a chain of files that refer to each other."""

    def methods(given: object, name: str) -> tuple[Method, ...]:
        if isinstance(given, str):
            return _loaded(given, chain).methods
        return tuple(_method(each) for each in items(given, name))

    readers = {**READERS, "studies": _studies, "methods": methods, "paper": _table, "shows": _shows}
    experiment = record_of(Experiment, {"methods": [], **content}, "the experiment", readers)
    _check_places(experiment)
    return experiment


def _check_places(experiment: Experiment) -> None:
    """Raise if the place of a method in the paper fits several numbers."""
    for study, method in product(experiment.studies, experiment.methods):
        is_in_paper = experiment.paper and study.paper and method.paper
        conditions = product(study.backbones, study.taught[:1], study.tested[:1])
        for backbone, train, test in conditions if is_in_paper else ():
            place = {"train": train, "test": test, **study.paper, **method.paper}
            try:
                paper_number(experiment.paper, backbone=backbone, **place)
            except LookupError as error:
                raise SpecError(
                    f"paper of the study {study.name!r} and of the method {method.name!r} do not "
                    f"name one number: {error}"
                ) from error


def _studies(given: object, name: str) -> tuple[Study, ...]:
    return tuple(
        record_of(Study, each, f"the study {_name(each)}", READERS) for each in items(given, name)
    )


def _method(given: object) -> Method:
    return record_of(Method, given, f"the method {_name(given)}", READERS)


def _name(table: object) -> str:
    return repr(table["name"]) if isinstance(table, dict) and "name" in table else "without a name"


def _table(given: object, name: str) -> str:
    table = text(given, name)
    if table not in PAPER_TABLES:
        raise SpecError(f"{name} is {table!r}: {suggestion(table, PAPER_TABLES)}")
    return table


def _shows(given: object, name: str) -> tuple[str, ...]:
    shows = texts(given, name)
    for show in shows:
        if show not in SHOWS:
            raise SpecError(f"cannot show {show!r}: {suggestion(show, SHOWS)}")
    return shows
