"""The experiments that come with robocle, and the errors of broken ones."""

import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError
from robocle.evaluation.corruptions import CORRUPTIONS
from robocle.evaluation.datasets import DATASETS
from robocle.evaluation.experiment import Experiment
from robocle.evaluation.experiment_file import experiment_names, load_experiment
from robocle.evaluation.paper import PAPER_TABLES, paper_number, paper_numbers
from robocle.evaluation.scenarios import SCENARIOS
from robocle.images.views import VIEWS
from robocle.poolings import POOLINGS
from robocle.profiles import DEFAULT_PROFILE, PROFILES
from robocle.spec import parse_spec

NAMES = sorted(experiment_names())
STUDY = 'title = "x"\n[[studies]]\nname = "y"\ndataset = "home"\nscenario = "class_iid"\n'


@pytest.fixture(params=NAMES)
def experiment(request: pytest.FixtureRequest) -> Experiment:
    return load_experiment(str(request.param))


def test_every_part_an_experiment_names_can_be_built(experiment: Experiment) -> None:
    for study in experiment.studies:
        DATASETS.build(study.dataset)
        SCENARIOS.build(study.scenario)
        for corruption in {*study.taught, *study.tested}:
            CORRUPTIONS.build(corruption)
        assert study.seeds == (0, 1, 2, 3, 4)
    for method in experiment.methods:
        POOLINGS.build(method.pooling)
        CLASSIFIERS.build(method.classifier)
        VIEWS.build(method.views)


def test_a_profile_in_an_experiment_is_that_of_the_learner(experiment: Experiment) -> None:
    names = {"robocle default": DEFAULT_PROFILE, "robocle accurate": "accurate"}
    names |= {name: name for name in PROFILES}
    for method in experiment.methods:
        if method.name in names:
            profile = PROFILES[names[method.name]]
            assert (method.pooling, method.classifier) == (profile.pooling, profile.classifier)
            assert (method.views, method.prediction_views) == (
                profile.views,
                profile.prediction_views,
            )
            assert method.backbones in ((), (profile.backbone,))
            assert method.backbones or profile.backbone == PROFILES[DEFAULT_PROFILE].backbone


def test_a_gain_is_over_a_method_listed_before(experiment: Experiment) -> None:
    seen: set[str] = set()
    for method in experiment.methods:
        assert not method.over or method.over in seen
        seen.add(method.name)


def test_the_paper_has_a_number_for_every_place_named(experiment: Experiment) -> None:
    if not experiment.paper:
        return
    for study in experiment.studies:
        for method in experiment.methods:
            if method.paper:
                taught = {"train": study.taught[0], "test": study.tested[0]}
                place = {**taught, **study.paper, **method.paper}
                place.pop("reading", "")
                places = [
                    paper_number(experiment.paper, **{"backbone": name, **place})
                    for name in study.backbones
                ]
                assert any(place is not None for place in places), method.name


@pytest.mark.parametrize("table", PAPER_TABLES)
def test_every_row_of_robocle_is_run_in_both_readings_and_its_name_says_which(table: str) -> None:
    methods = load_experiment(table).methods
    ours = [each for each in methods if each.paper and each.pooling.startswith("moments")]
    rows = {method.name.rpartition(", ")[0] for method in ours}
    assert {(method.name, method.pooling) for method in ours} == {
        (f"{row}, {reading}", f"moments:r=3,form={form}")
        for row in rows
        for reading, form in (("root", "root"), ("as printed", "standardised"))
    }
    printed = [each for each in paper_numbers() if each.table == table]
    assert {method.paper.get("method", "robocle_slda") for method in ours} == {
        number.method for number in printed if number.pooling == "moments"
    }


def test_the_page_about_the_paper_says_which_options_belong_to_whom() -> None:
    """The paper's method, the parts alone, and our learner."""
    page = (Path(__file__).parents[2] / "docs/paper-and-code.md").read_text("utf-8")
    slda = next(each for each in load_experiment("table1").methods if each.name == "SLDA")
    paper = parse_spec(slda.classifier).options
    alone = CLASSIFIERS.defaults("slda")
    ours = parse_spec(PROFILES[DEFAULT_PROFILE].classifier).options
    for name in ("scatter", "shrinkage", "covariance", "score"):
        values = (paper.get(name, alone[name]), alone[name], ours[name])
        cells = " | ".join(f"`{value}`".replace("0.0001", "1e-4") for value in values)
        assert f"| `{name}` of `slda` | {cells} |" in page
    assert f"| `{PROFILES[DEFAULT_PROFILE].pooling}` |" in page


def test_a_reading_for_another_size_does_not_survive_other_backbones() -> None:
    studies = load_experiment("table1").changed(backbones=("resnet18",)).studies
    assert [study.name for study in studies] == ["OpenLORIS"]


def test_a_method_may_have_a_backbone_of_its_own_unless_others_are_asked_for() -> None:
    plan = load_experiment("profiles")
    used = {(place.method, trial.backbone) for trial, place in plan.trials({}).items()}
    assert used == {
        ("default of 0.1.0", "efficientnet_lite0"),
        *((name, each.backbone) for name, each in PROFILES.items()),
    }
    other = plan.changed(backbones=("efficientnet_lite1",))
    assert {trial.backbone for trial in other.trials({})} == {"efficientnet_lite1"}


def test_studies_are_chosen_by_name() -> None:
    table = load_experiment("table2")
    assert [study.name for study in table.only(("OpenLORIS-small",)).studies] == ["OpenLORIS-small"]
    assert table.only(()) == table
    with pytest.raises(SpecError, match=r"no study 'OpenLORIS' in 'Table 2.*did you mean"):
        table.only(("OpenLORIS",))


def test_an_experiment_can_be_run_on_other_data(experiment: Experiment) -> None:
    moved = experiment.changed(dataset="home", scenario="class_iid:shots=2", seeds=(7,))
    assert {study.dataset for study in moved.studies} == {"home"}
    assert {study.seeds for study in moved.studies} == {(7,)}
    readings = {"", ", noise read as blur"}
    names = {f"home, class_iid:shots=2{reading}" for reading in readings}
    assert {study.name for study in moved.studies} <= names
    assert len({study.name for study in moved.studies}) == len(moved.studies)
    assert not any(study.paper for study in moved.studies)  # it is no longer the paper's
    assert experiment.changed(dataset=None, seeds=()) == experiment


@pytest.mark.parametrize(
    ("name", "dataset", "ending"),
    [
        ("table2", "folder:layout=split", "on other pictures in place of OpenLORIS-Object and F-"),
        ("moments", "core50", "; on core50 in place of OpenLORIS-Object"),
        ("table1", "openloris:tested=validation", ""),
        ("comparison", "folder", ""),
    ],
)
def test_the_title_says_if_other_data_take_the_place_of_the_papers(
    name: str, dataset: str, ending: str
) -> None:
    experiment = load_experiment(name)
    title = experiment.changed(dataset=dataset).title
    assert ending in title
    assert (title == experiment.title) == (not ending)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = ", "cannot read the experiment"),
        ('title = "x"', "is not an experiment"),
        (f"{STUDY}seeds = 2", "seeds of the study 'y' must be a list"),
        ('title = "x"\nstudies = []\nshows = ["acuracy"]', "did you mean 'accuracy'"),
        ('title = "x"\nstudies = []\nshows = [3]', "each of shows of the experiment is 3: known: "),
        ("title = 3\nstudies = []", "title of the experiment must be text in quotes, not 3"),
        ('title = "x"\nstudies = []\nmethod = 3', "unknown key 'method': did you mean 'methods'"),
        ('title = "x"\nstudies = [3]', "each of studies of the experiment must be a table, not 3"),
        (f"{STUDY}seeds = [true]", "each of seeds of the study 'y' must be a whole number"),
        (f"{STUDY}seeds = [-1]", "each of seeds of the study 'y' must be a whole number"),
        (f"{STUDY}paper = {{ dataset = 3 }}", "dataset in paper of the study 'y' must be text"),
        (f'{STUDY}paper = {{ table = "x" }}', "paper of the study 'y' has the unknown key 'table'"),
        (
            f"paper = 'table2'\n{STUDY}backbones = ['resnet50']\npaper = {{ method = 'slda' }}\n"
            "[[methods]]\nname = 'm'\npooling = 'avg'\nclassifier = 'ncm'\n"
            "paper = { method = 'slda' }",
            "study 'y' and of the method 'm' do not name one number: .*: also give dataset",
        ),
        (f"{STUDY}paper = 3", "paper of the study 'y' must be a table, not 3"),
        (f"a = {'[' * 5000}", "cannot read the experiment"),
    ],
)
def test_a_broken_experiment_raises_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=complaint) as caught:
        load_experiment(str(path))
    assert "\n" not in str(caught.value)


def test_an_unknown_experiment_suggests_the_closest_name() -> None:
    with pytest.raises(SpecError, match="did you mean 'table1'"):
        load_experiment("tabel1")
    with pytest.raises(SpecError, match=r"there is no experiment file missing\.toml"):
        load_experiment("missing.toml")


def test_experiments_that_refer_to_each_other_are_named(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(f'title = "x"\nstudies = []\nmethods = "{other}"')
    other.write_text(f'title = "x"\nstudies = []\nmethods = "{one}"')
    with pytest.raises(SpecError, match=r"refer to each other: .*one.toml -> .*other.toml -> "):
        load_experiment(str(one))
    one.write_text(f'title = "x"\nstudies = []\nmethods = "{one}"')
    with pytest.raises(SpecError, match=r"refer to each other: .*one.toml -> .*one.toml"):
        load_experiment(str(one))


KEYS = st.sampled_from(
    ["name", "title", "studies", "methods", "shows", "paper", "seeds", "dataset", "scenario"]
    + ["pooling", "classifier", "backbones", "taught", "tested", "views", "over", "x"]
)
VALUES: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.dates()
    | st.sampled_from(["accuracy", "comparison"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def experiment_or_error() -> Experiment | str:
    try:
        return load_experiment("table1")
    except SpecError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6), st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_content_is_an_experiment_or_an_error_of_one_line(
    content: dict[str, object], table: dict[str, object]
) -> None:
    base = {"title": "x", "studies": [{"name": "y", "dataset": "d", "scenario": "s", **table}]}
    for each in (content, {**base, **content}, {**base, "methods": [table]}):
        with patch.object(tomllib, "loads", return_value=each):
            loaded = experiment_or_error()
        if isinstance(loaded, str):
            assert "\n" not in loaded
        else:
            assert all(isinstance(study.name, str) for study in loaded.studies)
            assert all(isinstance(method.name, str) for method in loaded.methods)
