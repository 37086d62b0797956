"""One line of text builds a part; a wrong one says what is wrong with it."""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import robocle
from refusal import Refusal
from robocle.backbones import BACKBONES
from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError
from robocle.pooling import POOLINGS
from robocle.registry import Registry
from robocle.spec import Spec, parse_spec, require_between, require_choice, suggestion

TABLES: dict[str, Registry[Any]] = {"pooling": POOLINGS, "classifier": CLASSIFIERS}
ENTRIES = [(kind, name) for kind, table in TABLES.items() for name in table.names()]

# ---- reading


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("avg", Spec("avg", {})),
        ("avg:", Spec("avg", {})),
        ("moments:r=3", Spec("moments", {"r": 3})),
        ("a:x=1,y=1.0,z=one", Spec("a", {"x": 1, "y": 1.0, "z": "one"})),
        ("a:x=-2,y=1e-4", Spec("a", {"x": -2, "y": 1e-4})),
        ("a:x=k=v", Spec("a", {"x": "k=v"})),
        ("a:x=C:/models", Spec("a", {"x": "C:/models"})),
        ("a:x", Spec("a", {}, "x")),
        ("a:3", Spec("a", {}, "3")),
        ("a:C:/models,x=1", Spec("a", {"x": 1}, "C:/models")),
    ],
)
def test_a_spec_is_a_name_and_options(text: str, spec: Spec) -> None:
    parsed = parse_spec(text)
    assert parsed == spec
    kinds = {key: type(value) for key, value in parsed.options.items()}
    assert kinds == {key: type(value) for key, value in spec.options.items()}


@pytest.mark.parametrize("text", ["a:x,y", "a:x=", "a:=1", "a:x=1,", "a:,x=1", "a:x=1,,y=2", "a:="])
def test_a_malformed_option_is_refused_with_how_to_write_it(text: str, refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: parse_spec(text))
    assert repr(text) in message
    assert "name:key=value,key=value" in message


def test_an_option_given_twice_is_refused(refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: parse_spec("moments:r=2,r=3"))
    assert message == "r is given twice in 'moments:r=2,r=3'"


options = st.dictionaries(
    st.text(st.characters(categories=["L"]), min_size=1),
    st.integers() | st.floats(allow_nan=False) | st.sampled_from(["root", "oas", "k=v"]),
)


@given(name=st.text(st.characters(categories=["L", "N"])), options=options)
def test_a_written_spec_is_read_back(name: str, options: dict[str, int | float | str]) -> None:
    spec = Spec(name, options)
    assert parse_spec(str(spec)) == spec


# ---- building


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_part_is_described_by_a_spec_that_builds_it_again(kind: str, name: str) -> None:
    table = TABLES[kind]
    described = table.describe(table.build(name))
    assert parse_spec(described).name == name
    assert table.describe(table.build(described)) == described


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_a_description_spells_out_every_option(kind: str, name: str) -> None:
    part = TABLES[kind].build(name)
    described = parse_spec(TABLES[kind].describe(part))
    assert list(described.options) == list(inspect.signature(type(part)).parameters)


def test_a_description_keeps_the_options_that_were_given() -> None:
    part = robocle.pooling("moments:form=standardised,r=2")
    assert POOLINGS.describe(part) == "moments:r=2,form=standardised"
    described = CLASSIFIERS.describe(robocle.classifier("slda:shrinkage=1e-4,scatter=published"))
    assert described.startswith("slda:scatter=published,shrinkage=0.0001,")


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_part_says_in_one_line_what_it_is(kind: str, name: str) -> None:
    summary = TABLES[kind].summary(name)
    assert len(summary) > 10
    assert "\n" not in summary


def test_context_fills_only_the_options_that_a_part_has_and_the_spec_leaves_open() -> None:
    assert "blocks=3" in CLASSIFIERS.describe(CLASSIFIERS.build("slda", blocks=3))
    assert "blocks=2" in CLASSIFIERS.describe(CLASSIFIERS.build("slda:blocks=2", blocks=3))
    assert POOLINGS.describe(POOLINGS.build("avg", blocks=3)) == "avg"


def test_a_part_that_is_in_no_table_cannot_be_described(refusal: Refusal) -> None:
    class Strange:
        blocks = 1

        def __call__(self, maps: robocle.FeatureMaps) -> Any:
            return maps.grid[:, 0]

    message = refusal(SpecError, lambda: POOLINGS.describe(Strange()))
    assert message == "Strange is not a known pooling"


# ---- what is refused


@pytest.mark.parametrize(
    ("build", "spec", "message"),
    [
        (robocle.pooling, "moment", "unknown pooling 'moment': did you mean 'moments'?"),
        (robocle.classifier, "sldaa", "unknown classifier 'sldaa': did you mean 'slda'?"),
        (
            robocle.backbone,
            "efficientnet_lite1",
            "unknown backbone 'efficientnet_lite1': did you mean 'efficientnet_lite0'?",
        ),
        (
            robocle.pooling,
            "moments:from=root",
            "moments has no option 'from': did you mean 'form'?",
        ),
        (robocle.pooling, "moments:zzz=1", "moments has no option 'zzz': known: form, r"),
        (robocle.pooling, "avg:r=3", "avg has no option 'r': it has no options"),
        (robocle.pooling, "avg:3", "cannot read '3' in 'avg:3': write name:key=value,key=value"),
        (
            robocle.pooling,
            "moments:3,form=root",
            "cannot read '3' in 'moments:3,form=root': write name:key=value,key=value",
        ),
        (robocle.pooling, "moments:r=many", "r=many of moments must be int"),
        (robocle.pooling, "moments:r=2.5", "r=2.5 of moments must be int"),
        (robocle.pooling, "moments:form=7", "form=7 is not known: choose root or standardised"),
        (robocle.pooling, "moments:r=0", "r=0 is out of range: give 1 to 8"),
        (robocle.pooling, "moments:r=9", "r=9 is out of range: give 1 to 8"),
        (
            robocle.backbone,
            "efficientnet_lite0:threads=0",
            "threads=0 is out of range: give 1 to 256",
        ),
        (
            robocle.pooling,
            "moments:form=cubed",
            "form=cubed is not known: choose root or standardised",
        ),
        (
            robocle.classifier,
            "slda:shrinkage=nan",
            "shrinkage=nan is out of range: give 1e-09 to 1",
        ),
        (robocle.classifier, "slda:shrinkage=2", "shrinkage=2 is out of range: give 1e-09 to 1"),
    ],
)
def test_a_wrong_spec_is_refused_with_what_to_do(
    build: Callable[[str], object], spec: str, message: str, refusal: Refusal
) -> None:
    assert refusal(SpecError, lambda: build(spec)) == message


class Closed:
    """A part whose options are closed choices."""

    def __init__(
        self, form: Literal["root", "2"] = "root", size: float | Literal["auto"] = 1.0
    ) -> None:
        require_choice("form", form, ("root", "2"))
        self.form = form
        self.size = size


closed: Registry[Closed] = Registry("closed part", {"closed": f"{__name__}:Closed"})


def test_an_option_annotated_as_a_literal_is_read_as_text() -> None:
    assert closed.build("closed:form=2").form == "2"
    assert closed.build("closed:size=auto").size == "auto"
    assert closed.build("closed:size=3").size == 3
    assert closed.describe(closed.build("closed:form=2,size=auto")) == "closed:form=2,size=auto"


def test_a_literal_option_outside_its_choices_is_refused(refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: closed.build("closed:form=3"))
    assert message == "form=3 is not known: choose root or 2"


@pytest.mark.parametrize("name", ["", "qqqqqqqq", " ", "slda\n", "a\nb"])
def test_an_unknown_name_far_from_all_lists_what_there_is_in_one_line(
    name: str, refusal: Refusal
) -> None:
    message = refusal(SpecError, lambda: CLASSIFIERS.build(name))
    assert repr(name) in message
    assert "slda" in message


def test_nearest_gives_the_close_spelling_or_all_of_them() -> None:
    assert suggestion("bal", ["ball", "box"]) == "did you mean 'ball'?"
    assert suggestion("zzz", ["box", "ball"]) == "known: ball, box"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -0.1, 1.1, 10**400, -(10**400)],
    ids=["nan", "inf", "below", "above", "huge", "minus huge"],
)
def test_a_number_outside_its_range_is_refused(value: float, refusal: Refusal) -> None:
    assert "out of range" in refusal(SpecError, lambda: require_between("x", value, 0, 1))


def test_the_ends_of_a_range_and_every_choice_are_accepted() -> None:
    require_between("x", 0, 0, 1)
    require_between("x", 1, 0, 1)
    for choice in ("red", "blue"):
        require_choice("colour", choice, ("red", "blue"))


keys = st.sampled_from(["r", "form", "shrinkage", "scatter", "scale", "covariance", "blocks", "x"])
words = st.sampled_from(["oas", "root", "exact", "full", "none", "blocks", "nan", "inf", "1e-4"])
pairs = st.tuples(keys, words | st.integers().map(str) | st.floats().map(str) | st.text(max_size=5))
near_specs = st.builds(
    lambda name, given: f"{name}:" + ",".join(f"{key}={value}" for key, value in given),
    st.sampled_from([name for _, name in ENTRIES]),
    st.lists(pairs, max_size=3),
)


@given(text=near_specs | st.text())
@example(text="moments:r=" + "9" * 400)
@example(text="slda:shrinkage=" + "9" * 400)
@example(text="moments:r=" + "9" * 5000)
@example(text="slda:shrinkage=1_0")
@example(text=":::")
def test_any_text_builds_a_part_or_is_refused(text: str) -> None:
    for table in TABLES.values():
        try:
            part = table.build(text)
        except SpecError:
            continue
        assert table.describe(table.build(table.describe(part))) == table.describe(part)


# ---- plug-ins: a package of someone else, installed for real

PLUGIN = '''
import hashlib
import numpy as np
from robocle.types import FeatureMaps


class Corners:
    """The first and the last position, times a gain."""

    blocks = 2

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, maps):
        return self.gain * np.hstack([maps.grid[:, 0], maps.grid[:, -1]])


class Tiles:
    """The mean colour of each of four tiles."""

    name = "tiles"
    fingerprint = hashlib.sha256(b"tiles").hexdigest()
    input_size = 32

    def features(self, pixels):
        tiles = pixels.reshape(len(pixels), 2, 16, 2, 16, 3).mean(axis=(2, 4))
        return FeatureMaps(tiles.reshape(len(pixels), 4, 3).astype(np.float32))
'''
ENTRY_POINTS = """
[robocle.poolings]
corners = robocle_test_plugin:Corners
avg = robocle_test_plugin:Corners

[robocle.backbones]
tiles = robocle_test_plugin:Tiles
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "robocle_test_plugin.py").write_text(PLUGIN)
    installed = tmp_path / "robocle_test_plugin-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: robocle-test-plugin\nVersion: 1.0\n"
    )
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("robocle_test_plugin", None)


def test_without_the_package_its_parts_are_unknown() -> None:
    assert "corners" not in POOLINGS.names()
    with pytest.raises(SpecError, match="unknown pooling 'corners'"):
        robocle.pooling("corners")


@pytest.mark.usefixtures("plugin")
def test_an_installed_plugin_is_built_described_and_listed_after_ours() -> None:
    assert POOLINGS.names()[0] == "avg"
    assert POOLINGS.names()[-1] == "corners"
    part = robocle.pooling("corners:gain=2")
    maps = robocle.FeatureMaps(np.arange(12, dtype=np.float32).reshape(1, 4, 3))
    assert part(maps).tolist() == [[0, 2, 4, 18, 20, 22]]
    assert POOLINGS.describe(part) == "corners:gain=2"
    assert POOLINGS.summary("corners") == "The first and the last position, times a gain."


@pytest.mark.usefixtures("plugin")
def test_a_plugin_is_held_to_the_same_rules(refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: robocle.pooling("corners:gian=2"))
    assert message == "corners has no option 'gian': did you mean 'gain'?"
    message = refusal(SpecError, lambda: robocle.pooling("corners:gain=much"))
    assert message == "gain=much of corners must be float"
    assert "did you mean 'corners'?" in refusal(SpecError, lambda: robocle.pooling("corner"))


@pytest.mark.usefixtures("plugin")
def test_a_plugin_cannot_take_the_name_of_a_part_of_ours() -> None:
    assert type(robocle.pooling("avg")).__name__ == "Average"


@pytest.mark.usefixtures("plugin")
def test_a_learner_made_of_plugins_is_saved_and_loaded(tmp_path: Path) -> None:
    assert "tiles" in BACKBONES.names()
    learner = robocle.Learner("tiles", "corners:gain=0.5", "ncm")
    dark, light = np.zeros((40, 40, 3), np.uint8), np.full((40, 40, 3), 250, np.uint8)
    learner.teach(dark, "night")
    learner.teach(light, "day")
    learner.save(tmp_path / "plugin.robocle")
    loaded = robocle.Learner.load(tmp_path / "plugin.robocle")
    assert loaded.parts == learner.parts
    assert loaded.predict(light).label == "day"


def test_a_text_option_may_look_like_a_number() -> None:
    from robocle.evaluation.scenarios import scenario
    from robocle.evaluation.scenarios.cross_domain import CrossDomain

    built = scenario("cross_domain:domain=2021")
    assert isinstance(built, CrossDomain)
    assert built.domain == "2021"
