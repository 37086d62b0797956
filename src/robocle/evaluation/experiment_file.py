"""Experiment files: TOML that lists the methods to compare and the data to compare them on.

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
    backbones = ["resnet18"]               # if it has its own, instead of those of the studies
    paper = { method = "slda" }

Every method is run on every study, with every backbone, taught corruption and seed. To use the
methods of another experiment, give its name: methods = "comparison".

The fields and their types are those of the dataclasses in `robocle.evaluation.experiment`. They are
read without pydantic or msgspec: what these report ("Input should be a valid tuple", "Unexpected
keyword argument", or nothing for an unknown key) would have to be translated, case by case, into
which study has which wrong value and which key was meant. That takes as many lines as reading.
"""

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from robocle.errors import SpecError
from robocle.evaluation.experiment import Experiment, Method
from robocle.evaluation.paper import paper_number
from robocle.spec import suggestion

PAPER_KEYS = ("dataset", "method", "pooling", "backbone", "reading")
"""What tells where in a table of the paper a study or a method is; `reading` names a study that
reads the paper in another way."""
LARGEST_SEED = 2**32 - 1


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


def experiment_names() -> dict[str, Path]:
    """Return the experiments that come with robocle, and their files."""
    package = Path(str(files("robocle")))
    for folder in (package / "experiments", package.parents[1] / "experiments"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


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


def _find(name: str) -> Path:
    if name.endswith(".toml"):
        if not os.path.exists(name):
            raise SpecError(f"there is no experiment file {name}")
        return Path(name)
    known = experiment_names()
    if name not in known:
        advice = f"{suggestion(name, known)} (one of your own is given as its .toml file)"
        raise SpecError(f"no experiment {name!r}: {advice}")
    return known[name]


def _parsed(content: dict[str, Any], chain: tuple[Path, ...]) -> Experiment:
    """Return the experiment of a file, the last of a chain of files that refer to each other."""
    methods: tuple[Method, ...] = ()
    if isinstance(content.get("methods"), str):
        methods = _loaded(content["methods"], chain).methods
        content = {**content, "methods": []}
    experiment: Experiment = _record(Experiment, content, "the experiment")
    experiment = replace(experiment, methods=methods or experiment.methods)
    _check_places(experiment)
    return experiment


def _check_places(experiment: Experiment) -> None:
    """Raise if the place of a method in the paper fits several numbers."""
    for study, method in product(experiment.studies, experiment.methods):
        is_in_paper = experiment.paper and study.paper and method.paper
        cases = product(study.backbones, study.taught[:1], study.tested[:1])
        for backbone, train, test in cases if is_in_paper else ():
            conditions = {"backbone": backbone, "train": train, "test": test}
            place = {**conditions, **study.paper, **method.paper}
            place.pop("reading", "")
            try:
                paper_number(experiment.paper, **place)
            except LookupError as error:
                raise SpecError(
                    f"paper of the study {study.name!r} and of the method {method.name!r} do not "
                    f"name one number: {error}"
                ) from error


def _record(cls: type[Any], table: Any, name: str) -> Any:
    """Return a dataclass with the values of a table; `name` is what messages call the table."""
    _require(isinstance(table, Mapping), name, "a table", table)
    if "name" in table:
        name = f"the {cls.__name__.lower()} {table['name']!r}"
    kinds = get_type_hints(cls)
    _require_known(table, kinds, name)
    for field in fields(cls):
        if field.name not in table and field.default is field.default_factory is MISSING:
            raise SpecError(f"{name} lacks {field.name}: give {field.name} = ...")
    return cls(**{key: _value(kinds[key], table[key], f"{key} of {name}") for key in table})


def _value(kind: Any, value: Any, name: str) -> Any:
    """Return a value of a file in the form that the type of its field asks for."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, value, name)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        _require(isinstance(value, list), name, "a list", value)
        return tuple(_value(inner[0], each, f"each of {name}") for each in value)
    if origin is Mapping:
        _require(isinstance(value, Mapping), name, "a table", value)
        _require_known(value, PAPER_KEYS, name)
        return {key: _value(str, each, f"{key} in {name}") for key, each in value.items()}
    if origin is Literal:
        if value not in inner:
            raise SpecError(f"{name} is {value!r}: {suggestion(str(value), filter(None, inner))}")
    elif kind is int:
        is_seed = type(value) is int and 0 <= value <= LARGEST_SEED
        _require(is_seed, name, "a whole number from 0 on", value)
    else:
        _require(isinstance(value, str), name, "text in quotes", value)
    return value


def _require(is_right: bool, name: str, wanted: str, value: object) -> None:
    if not is_right:
        raise SpecError(f"{name} must be {wanted}, not {value!r}")


def _require_known(keys: Iterable[str], known: Collection[str], name: str) -> None:
    for key in keys:
        if key not in known:
            raise SpecError(f"{name} has the unknown key {key!r}: {suggestion(key, known)}")
