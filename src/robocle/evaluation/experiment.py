"""Experiments: the methods to compare, the data to compare them on, and the trials of both.

An experiment is read from a TOML file by `robocle.evaluation.experiment_file`.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from robocle.backbones import require_backbone
from robocle.classifiers import classifier
from robocle.errors import BackboneError, DataError, SpecError
from robocle.evaluation.corruptions import corruption
from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import backbone_facts
from robocle.evaluation.paper import FULL_NAMES, PaperTable, printed_as
from robocle.evaluation.results import Place
from robocle.evaluation.trial import Trial
from robocle.images.views import views
from robocle.poolings import POOLINGS
from robocle.poolings.plain import ClassToken
from robocle.spec import parse_spec, suggestion

log = logging.getLogger("robocle")

Show = Literal[
    "accuracy", "feature_size", "metrics", "per_step", "matrix", "cost", "moments", "unknown"
]
"""A group of tables, columns or plots in a report."""
SHOWS: tuple[Show, ...] = get_args(Show)
Roots = Mapping[str, str]
"""The folder of each data set by name; "" stands for all others."""
OTHER_DATA = {"home": "rendered pictures", "folder": "other pictures"}
"""What titles call data that take the place of the paper's."""
MOMENTS = ("moments:r=3,form=root", "moments:r=3,form=standardised")


@dataclass(frozen=True)
class Method:
    """A pooling, a classifier and views, perhaps a backbone, under the name that tables show."""

    name: str
    pooling: str
    classifier: str
    views: str = "plain"
    prediction_views: str = "plain"
    backbones: tuple[str, ...] = ()
    """The backbones that it is run on, instead of those of the study."""
    over: str = ""
    """The method that this one's gain is computed over."""
    paper: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Where in the table of the paper it is."""

    def require_parts(self) -> None:
        """Raise SpecError if a part is unknown."""
        classifier(self.classifier)
        views(self.views)
        views(self.prediction_views)
        POOLINGS.build(self.pooling)

    def can_use(self, backbone: str) -> bool:
        """Return whether a backbone on this machine has the class token that a pooling may need."""
        needs_token = isinstance(POOLINGS.build(self.pooling), ClassToken)
        if not needs_token or backbone_facts(backbone).has_token:
            return True
        log.warning("skipped: %s with %s has no class token", self.name, backbone)
        return False


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
    """Where in the table of the paper it is."""

    @property
    def dataset_name(self) -> str:
        """The data set without its options."""
        return parse_spec(self.dataset).name

    def root(self, roots: Roots) -> str | None:
        """Return the folder of the data: "" if they come with robocle, None if it is not given."""
        root = roots.get(self.dataset_name, roots.get(""))
        if root is None and dataset(self.dataset).default_root is None:
            return None
        return root or ""

    @property
    def reading(self) -> str:
        """What the study reads in another way than the paper's tables are usually read, if any."""
        return self.paper.get("reading", "")

    def outlasts(self, given: Mapping[str, Any]) -> bool:
        """Return whether a reading of the paper is still one after changes of the study."""
        is_of_corruptions = any(printed_as(each) != each for each in self.tested)
        if not self.reading or is_of_corruptions:
            return True
        return not given.keys() & {"dataset", "scenario", "backbones"}

    def changed(self, given: Mapping[str, Any]) -> "Study":
        """Return the study with changes. On other data or streams it is not one of the paper's."""
        changed = replace(self, **given)
        if {"dataset", "scenario"} & given.keys():
            names = (changed.dataset, changed.scenario, self.reading)
            return replace(changed, name=", ".join(filter(None, names)), paper={})
        return changed


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment file."""

    title: str
    studies: tuple[Study, ...]
    methods: tuple[Method, ...] = ()
    paper: Literal["", PaperTable] = ""
    """The table of the paper to compare with, if any."""
    shows: tuple[Show, ...] = ("accuracy",)

    def changed(self, **changes: Any) -> "Experiment":
        """Return the same experiment on other data, backbones or orderings.

        If the paper's data are replaced, the title says so.

        Args:
            changes: New values for fields of the studies. Empty values change nothing.
        """
        given = {key: value for key, value in changes.items() if value}
        kept = (study for study in self.studies if study.outlasts(given))
        studies = dict.fromkeys(study.changed(given) for study in kept)
        name = parse_spec(given["dataset"]).name if "dataset" in given else ""
        title = self.title
        if name and name not in FULL_NAMES and self.paper_data:
            title += f"; on {OTHER_DATA.get(name, name)} in place of {self.paper_data}"
        methods = self.methods
        if "backbones" in given:
            methods = tuple(replace(each, backbones=()) for each in methods)
        return replace(self, title=title, studies=tuple(studies), methods=methods)

    @property
    def paper_data(self) -> str:
        """The paper's data sets among those of the studies, such as "F-SIOL-310"; "" if none is."""
        names = dict.fromkeys(study.dataset_name for study in self.studies)
        return " and ".join(FULL_NAMES[name] for name in names if name in FULL_NAMES)

    def only(self, names: Sequence[str]) -> "Experiment":
        """Return the experiment with the studies whose name is given; with all, if none is.

        Raises:
            SpecError: There is no such study.
        """
        known = [study.name for study in self.studies]
        for name in names:
            if name not in known:
                raise SpecError(f"no study {name!r} in {self.title!r}: {suggestion(name, known)}")
        studies = (study for study in self.studies if study.name in (names or known))
        return replace(self, studies=tuple(studies))

    def trials(self, roots: Roots) -> dict[Trial, Place]:
        """Return every trial that can be run here, with its place in the experiment.

        What cannot be run, such as a backbone that is not installed, is logged and skipped.

        Args:
            roots: Where the data are.

        Raises:
            SpecError: A method names an unknown part or option.
            DataError: Nothing can be run.
        """
        found: dict[Trial, Place] = {}
        for study, root in self._studies_here(roots):
            wanted = {each: each.backbones or study.backbones for each in self.methods}
            names = dict.fromkeys(name for each in wanted.values() for name in each)
            absences = {name: _absence(name) for name in names}
            for reason in filter(None, absences.values()):
                log.warning("skipped: %s", reason)
            for method in self.methods:
                place = self._place(study, method, len(found))
                backbones = [name for name in wanted[method] if not absences[name]]
                for trial in self._trials(study, method, root, backbones):
                    found.setdefault(trial, place)
        if not found and not self.moment_trials(roots):
            raise DataError(
                "nothing can be run: give the data with --data DIR, or try --dataset home "
                "--scenario class_iid:shots=5 --backbone efficientnet_lite0"
            )
        return found

    def moment_trials(self, roots: Roots) -> dict[Trial, Place]:
        """Return the trials of the moment figure, which have no classifier, if it is shown."""
        return {
            Trial(
                study.dataset, root, study.scenario, study.seeds[0], backbone, form, classifier="",
                tested=tuple(dict.fromkeys(("clean", *study.tested))),
            ): Place(self.title, study.name, "moments", shows=self.shows)
            for study in self.studies
            if "moments" in self.shows and (root := study.root(roots)) is not None
            for backbone in study.backbones
            if not _absence(backbone)
            for form in MOMENTS
        }  # fmt: skip

    def _studies_here(self, roots: Roots) -> Iterator[tuple[Study, str]]:
        """Yield the studies whose data are here, and where they are."""
        for study in self.studies:
            root = study.root(roots)
            if root is None:
                log.warning("skipped: %s (no --data %s=DIR given)", study.name, study.dataset_name)
            elif reason := _missing_reading(study, root):
                log.warning("skipped: %s (%s)", study.name, reason)
            else:
                yield study, root

    def _trials(
        self, study: Study, method: Method, root: str, backbones: Iterable[str]
    ) -> Iterator[Trial]:
        """Yield the trials of a method in a study; a misspelt part raises now."""
        method.require_parts()
        for corrupted in {*study.taught, *study.tested}:
            corruption(corrupted)
        usable = [backbone for backbone in backbones if method.can_use(backbone)]
        for backbone, taught, seed in product(usable, study.taught, study.seeds):
            yield Trial(
                study.dataset,
                root,
                study.scenario,
                seed,
                backbone,
                method.pooling,
                method.classifier,
                taught,
                study.tested,
                evaluate_each_step=not {"metrics", "per_step"}.isdisjoint(self.shows),
                views=method.views,
                prediction_views=method.prediction_views,
                open_set="unknown" in self.shows,
            )

    def _place(self, study: Study, method: Method, order: int) -> Place:
        is_in_paper = self.paper and study.paper and method.paper
        paper = {"table": self.paper, **study.paper, **method.paper} if is_in_paper else {}
        return Place(self.title, study.name, method.name, method.over, order, self.shows, paper)


def _missing_reading(study: Study, root: str) -> str:
    """Return why another reading of the paper needs more than a copy of the data has, or ""."""
    try:
        if study.reading:
            dataset(study.dataset).examples(Path(root) if root else None)
    except DataError as error:
        return str(error)
    return ""


def _absence(backbone: str) -> str:
    """Return why a backbone is not on this machine and what to do about it, or ""."""
    try:
        require_backbone(backbone)
    except (SpecError, BackboneError) as error:
        return str(error)
    return ""
