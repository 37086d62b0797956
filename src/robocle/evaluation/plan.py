"""Planning an experiment: its trials, and what can be run on this machine."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from robocle.backbones import require_backbone
from robocle.classifiers import classifier
from robocle.errors import BackboneError, DataError, SpecError
from robocle.evaluation.corruptions import corruption
from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import backbone_facts
from robocle.evaluation.experiment import Experiment, Method, Study
from robocle.evaluation.illustrations import moment_trials
from robocle.evaluation.results import Place
from robocle.evaluation.trial import Trial
from robocle.images.views import views
from robocle.poolings import POOLINGS
from robocle.poolings.plain import ClassToken
from robocle.spec import parse_spec

log = logging.getLogger("robocle")

Roots = Mapping[str, str]
"""The folder of each data set by name; "" stands for all others."""


def planned_trials(experiment: Experiment, roots: Roots) -> dict[Trial, Place]:
    """Return every trial that can be run here, with its place in the experiment.

    What cannot be run, such as a backbone that is not installed, is logged and skipped.

    Raises:
        SpecError: A method names an unknown part or option.
        DataError: Nothing can be run.
    """
    planned: dict[Trial, Place] = {}
    for study in experiment.studies:
        root = _root(study, roots)
        if root is None:
            log.warning("skipped: %s (no --data %s=DIR given)", study.name, _dataset_name(study))
            continue
        for backbone in study.backbones:
            if reason := _absence(backbone):
                log.warning("skipped: %s", reason)
        for method in experiment.methods:
            place = _place(experiment, study, method, len(planned))
            for trial in _runnable(study, method, root):
                planned.setdefault(_as_shown(trial, experiment), place)
    if not planned and not planned_moment_trials(experiment, roots):
        raise DataError(
            "nothing can be run: give the data with --data DIR, or try --dataset home "
            "--scenario class_iid:shots=5 --backbone efficientnet_lite0"
        )
    return planned


def planned_moment_trials(experiment: Experiment, roots: Roots) -> dict[Trial, Place]:
    """Return the trials of the moment figure, if the experiment shows it."""
    if "moments" not in experiment.shows:
        return {}
    return {
        trial: Place(experiment.title, study.name, "moments", shows=experiment.shows)
        for study in experiment.studies
        if (root := _root(study, roots)) is not None
        for trial in moment_trials(study, root, _installed(study.backbones))
    }


def _root(study: Study, roots: Roots) -> str | None:
    """Return the folder of a study's data: "" for a data set that comes with robocle."""
    root = roots.get(_dataset_name(study), roots.get(""))
    if root is None and dataset(study.dataset).default_root is None:
        return None
    return root or ""


def _dataset_name(study: Study) -> str:
    return parse_spec(study.dataset).name


def _as_shown(trial: Trial, experiment: Experiment) -> Trial:
    """Return the trial with the evaluations that the report needs."""
    return replace(
        trial,
        evaluate_each_step=experiment.needs_each_step,
        open_set=experiment.needs_open_set,
    )


def _place(experiment: Experiment, study: Study, method: Method, order: int) -> Place:
    is_in_paper = experiment.paper and study.paper and method.paper
    paper = {"table": experiment.paper, **study.paper, **method.paper} if is_in_paper else {}
    return Place(
        experiment.title, study.name, method.name, method.over, order, experiment.shows, paper
    )


def _runnable(study: Study, method: Method, root: str) -> Iterator[Trial]:
    """Yield the trials of a method that can be run here; a misspelt part raises now."""
    classifier(method.classifier)
    views(method.views)
    views(method.prediction_views)
    needs_token = isinstance(POOLINGS.build(method.pooling), ClassToken)
    for corrupted in {*study.taught, *study.tested}:
        corruption(corrupted)
    usable = _installed(study.backbones)
    for backbone in list(usable) if needs_token else []:
        if not backbone_facts(backbone).has_token:
            log.warning("skipped: %s with %s has no class token", method.name, backbone)
            usable.remove(backbone)
    yield from (trial for trial in study.trials(method, root) if trial.backbone in usable)


def _installed(backbones: Iterable[str]) -> list[str]:
    """Return those of the backbones that are on this machine."""
    return [spec for spec in backbones if not _absence(spec)]


def _absence(backbone: str) -> str:
    """Return why a backbone is not on this machine and what to do about it, or ""."""
    try:
        require_backbone(backbone)
    except (SpecError, BackboneError) as error:
        return str(error)
    return ""
