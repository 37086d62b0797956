"""A spec is one line of text that builds a part; a wrong spec is refused with the reason."""

import inspect
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import robocle
from refusal import Refusal
from robocle.classifiers import CLASSIFIERS
from robocle.errors import SpecError
from robocle.evaluation.scenarios import scenario
from robocle.evaluation.scenarios.classes import CrossDomain
from robocle.poolings import POOLINGS
from robocle.registry import Registry
from robocle.spec import Spec, parse_spec, require_choice

REGISTRIES: dict[str, Registry[Any]] = {"pooling": POOLINGS, "classifier": CLASSIFIERS}
ENTRIES = [(kind, name) for kind, registry in REGISTRIES.items() for name in registry.names()]

# ---- parsing


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
def test_a_malformed_option_is_refused_with_the_syntax(text: str, refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: parse_spec(text))
    assert repr(text) in message
    assert "name:key=value,key=value" in message


options = st.dictionaries(
    st.text(st.characters(categories=["L"]), min_size=1),
    st.integers() | st.floats(allow_nan=False) | st.sampled_from(["root", "oas", "k=v"]),
)


@given(name=st.text(st.characters(categories=["L", "N"])), options=options)
def test_a_spec_written_as_text_is_parsed_to_the_same_spec(
    name: str, options: dict[str, int | float | str]
) -> None:
    spec = Spec(name, options)
    assert parse_spec(str(spec)) == spec


# ---- building


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_part_is_described_by_a_spec_that_builds_it_again(kind: str, name: str) -> None:
    registry = REGISTRIES[kind]
    part = registry.build(name)
    described = registry.describe(part)
    assert parse_spec(described).name == name
    assert list(parse_spec(described).options) == list(inspect.signature(type(part)).parameters)
    assert registry.describe(registry.build(described)) == described


def test_a_description_keeps_the_options_that_were_given() -> None:
    part = robocle.pooling("moments:form=standardised,r=2")
    assert POOLINGS.describe(part) == "moments:r=2,form=standardised"
    described = CLASSIFIERS.describe(robocle.classifier("slda:shrinkage=1e-4,scatter=published"))
    assert described.startswith("slda:scatter=published,shrinkage=0.0001,")


def test_context_sets_only_options_that_the_part_has_and_the_spec_does_not_give() -> None:
    assert "blocks=3" in CLASSIFIERS.describe(CLASSIFIERS.build("slda", blocks=3))
    assert "blocks=2" in CLASSIFIERS.describe(CLASSIFIERS.build("slda:blocks=2", blocks=3))
    assert POOLINGS.describe(POOLINGS.build("avg", blocks=3)) == "avg"


def test_a_part_that_is_not_registered_cannot_be_described(refusal: Refusal) -> None:
    class Unregistered:
        blocks = 1

        def __call__(self, maps: robocle.FeatureMaps) -> Any:
            return maps.grid[:, 0]

    message = refusal(SpecError, lambda: POOLINGS.describe(Unregistered()))
    assert message == "Unregistered is not a known pooling"


def test_a_text_option_can_be_all_digits() -> None:
    built = scenario("cross_domain:domain=2021")
    assert isinstance(built, CrossDomain)
    assert built.domain == "2021"


# ---- wrong specs


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("pooling", "moment", "unknown pooling 'moment': did you mean 'moments'?"),
        ("classifier", "sldaa", "unknown classifier 'sldaa': did you mean 'slda'?"),
        (
            "backbone",
            "efficientnet_lite",
            "unknown backbone 'efficientnet_lite': did you mean 'efficientnet_lite0'?",
        ),
        ("pooling", "moments:from=root", "moments has no option 'from': did you mean 'form'?"),
        ("pooling", "moments:zzz=1", "moments has no option 'zzz': known: form, r"),
        ("pooling", "avg:r=3", "avg has no option 'r': it has no options"),
        ("pooling", "avg:3", "cannot read '3' in 'avg:3': write name:key=value,key=value"),
        (
            "pooling",
            "moments:3,form=root",
            "cannot read '3' in 'moments:3,form=root': write name:key=value,key=value",
        ),
        ("pooling", "moments:r=2,r=3", "r is given twice in 'moments:r=2,r=3'"),
        ("pooling", "moments:r=many", "r=many of moments must be int"),
        ("pooling", "moments:r=2.5", "r=2.5 of moments must be int"),
        ("pooling", "moments:form=7", "form=7 is not known: choose root or standardised"),
        ("pooling", "moments:form=cubed", "form=cubed is not known: choose root or standardised"),
        ("pooling", "moments:r=0", "r=0 is out of range: give 1 to 8"),
        ("pooling", "moments:r=9", "r=9 is out of range: give 1 to 8"),
        ("backbone", "efficientnet_lite0:threads=0", "threads=0 is out of range: give 1 to 256"),
        ("classifier", "slda:shrinkage=nan", "shrinkage=nan is out of range: give 1e-09 to 1"),
        ("classifier", "slda:shrinkage=2", "shrinkage=2 is out of range: give 1e-09 to 1"),
    ],
)
def test_a_wrong_spec_is_refused_with_advice(
    kind: str, spec: str, message: str, refusal: Refusal
) -> None:
    build = getattr(robocle, kind)
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
def test_an_unknown_name_that_resembles_none_is_refused_with_the_known_names(
    name: str, refusal: Refusal
) -> None:
    message = refusal(SpecError, lambda: CLASSIFIERS.build(name))
    assert repr(name) in message
    assert "slda" in message


keys = st.sampled_from(["r", "form", "shrinkage", "scatter", "scale", "covariance", "blocks", "x"])
words = st.sampled_from(["oas", "root", "exact", "full", "none", "blocks", "nan", "inf", "1e-4"])
pairs = st.tuples(keys, words | st.integers().map(str) | st.floats().map(str) | st.text(max_size=5))
plausible_specs = st.builds(
    lambda name, options: f"{name}:" + ",".join(f"{key}={value}" for key, value in options),
    st.sampled_from([name for _, name in ENTRIES]),
    st.lists(pairs, max_size=3),
)


@pytest.mark.slow
@given(text=plausible_specs | st.text())
@example(text="moments:r=" + "9" * 400)
@example(text="slda:shrinkage=" + "9" * 400)
@example(text="moments:r=" + "9" * 5000)
@example(text="slda:shrinkage=1_0")
@example(text=":::")
def test_any_text_builds_a_part_or_is_refused(text: str) -> None:
    for registry in REGISTRIES.values():
        try:
            described = registry.describe(registry.build(text))
        except SpecError:
            continue
        assert registry.describe(registry.build(described)) == described
