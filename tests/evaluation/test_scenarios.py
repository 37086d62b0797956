"""Streams: taught and test pictures are disjoint, and the seed decides everything."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refusal import Refusal
from robocle.errors import DataError, SpecError
from robocle.evaluation.scenarios import SCENARIOS, scenario
from robocle.types import Example

ROOT = Path("data")


def pictures(label: str, count: int, **known: str) -> list[Example]:
    """Return pictures of a class, two per instance."""
    return [
        Example(
            ROOT.joinpath(*known.values(), label, f"{number}.jpg"),
            label,
            **{"instance": f"{label}_{number // 2:02d}"} | known,
        )
        for number in range(count)
    ]


def video(split: str, name: str, frames: int) -> list[Example]:
    """Return the frames of a video named factor/segment/instance."""
    factor, _, instance = name.split("/")
    label = instance.rpartition("_")[0]
    return [
        Example(ROOT / split / name / f"{k:04d}.jpg", label, split, instance, factor, name)
        for k in range(frames)
    ]


PLAIN = [e for label in ("bowl", "hat", "mug", "toy") for e in pictures(label, 12)]
SPLIT = [
    e
    for label in ("bowl", "hat", "mug")
    for split, count in (("train", 8), ("test", 5), ("validation", 3))
    for e in pictures(label, count, split=split)
]
DOMAINS = [
    e
    for domain in ("attic", "cellar", "clean")
    for label in ("bowl", "hat", "mug")
    for e in pictures(label, 9, domain=domain)
]
VIDEOS = [
    e
    for instance in ("bowl_01", "bowl_02", "hat_01", "mug_01")
    for factor in ("clutter", "pixel")
    for segment in ("segment1", "segment7")
    for split, count in (("train", 6), ("test", 2), ("validation", 2))
    for e in video(split, f"{factor}/{segment}/{instance}", count)
]


# ---- what holds for every scenario

DATA = {
    "class_iid": PLAIN,
    "low_shot_instance": VIDEOS,
    "instance": VIDEOS,
    "new_classes": VIDEOS,
    "cross_domain": DOMAINS,
}
SPECS = [
    ("class_iid", PLAIN),
    ("class_iid:shots=3,disjoint=instances", PLAIN),
    ("class_iid:shots=all", SPLIT),
    ("class_iid:shots=3,disjoint=instances,few=skip", VIDEOS),
    ("cross_domain:domain=attic", DOMAINS),
    ("cross_domain:disjoint=instances", DOMAINS),
    ("cross_domain:domain=pixel", VIDEOS),
    ("low_shot_instance:frames=3", VIDEOS),
    ("instance:steps=3", VIDEOS),
    ("new_classes:first=2,each=1,frames=3", VIDEOS),
]


def test_the_first_pictures_are_taught_and_only_later_ones_tested() -> None:
    stream = scenario("class_iid:shots=3,first=5").stream(PLAIN, seed=1)
    by_name = sorted(pictures("mug", 12), key=lambda example: str(example.path))
    early, late = set(by_name[:5]), set(by_name[5:])
    taught = [example for example in stream.taught if example.label == "mug"]
    assert len(taught) == 3
    assert set(taught) <= early
    assert {example for example in stream.tests["test"] if example.label == "mug"} == late


@pytest.mark.parametrize("spec", ["class_iid:shots=3", "cross_domain:shots=3,domain=attic"])
def test_only_other_pictures_of_taught_instances_are_tested_if_they_must_be_shared(
    spec: str,
) -> None:
    examples = DOMAINS if spec.startswith("cross") else PLAIN
    stream = scenario(f"{spec},shared=instances").stream(examples, seed=1)
    instances = {example.instance for example in stream.taught}
    assert stream.tested
    assert {example.instance for example in stream.tested} <= instances
    assert not set(stream.tested) & set(stream.taught)
    everything = scenario(spec).stream(examples, seed=1).tested
    assert set(stream.tested) == {each for each in everything if each.instance in instances}


def test_pictures_cannot_share_and_not_share_an_instance() -> None:
    with pytest.raises(SpecError, match="no picture can be tested"):
        scenario("class_iid:disjoint=instances,shared=instances")


def test_more_shots_than_first_pictures_are_refused() -> None:
    with pytest.raises(DataError, match="has 2 to teach and 10 others to test"):
        scenario("class_iid:shots=3,first=2").stream(PLAIN, seed=1)
    with pytest.raises(SpecError, match="first"):
        scenario("class_iid:first=0")


@pytest.mark.parametrize(("spec", "examples"), SPECS)
def test_the_location_of_the_data_does_not_matter(spec: str, examples: list[Example]) -> None:
    def moved(example: Example) -> Example:
        return replace(example, path=Path("/mnt/a b") / example.path)

    here = scenario(spec).stream(examples, seed=2)
    there = scenario(spec).stream([moved(e) for e in examples], seed=2)
    assert there.taught == [moved(e) for e in here.taught]
    assert there.tested == [moved(e) for e in here.tested]


@pytest.mark.parametrize(("spec", "examples"), SPECS)
def test_another_seed_gives_another_stream(spec: str, examples: list[Example]) -> None:
    streams = {scenario(spec).stream(examples, seed).steps for seed in range(6)}
    assert len(streams) > 1


@pytest.mark.parametrize("name", SCENARIOS.names())
def test_no_pictures_are_rejected(name: str, refusal: Refusal) -> None:
    refusal(DataError, lambda: scenario(name).stream([], seed=0))


def test_the_stream_of_a_seed_never_changes() -> None:
    steps = scenario("class_iid:shots=3").stream(PLAIN, seed=7).steps
    assert [(step[0].label, [int(e.path.stem) for e in step]) for step in steps] == [
        ("hat", [1, 7, 6]),
        ("bowl", [0, 9, 5]),
        ("toy", [1, 3, 2]),
        ("mug", [8, 6, 0]),
    ]


# ---- the same for any pictures

letters = st.sampled_from("abc")


@st.composite
def collections(draw: st.DrawFn) -> list[Example]:
    """Pictures of a few classes, instances and domains, with or without a split."""
    splits = draw(st.sampled_from([("",), ("train", "test", "validation")]))
    found = draw(
        st.lists(
            st.tuples(letters, letters, letters, st.sampled_from(splits), st.integers(0, 9)),
            min_size=20,
            max_size=80,
            unique=True,
        )
    )
    return [
        Example(
            Path(domain, split, label, instance, f"{number}.jpg"), label, split,
            f"{label}_{instance}", domain, f"{domain}/{label}_{instance}",
        )
        for label, instance, domain, split, number in found
    ]  # fmt: skip


specs = st.sampled_from(
    [
        "class_iid:shots={n},disjoint=pictures,few=skip",
        "class_iid:shots={n},disjoint=instances,few=skip",
        "cross_domain:shots={n},domain=a,few=skip",
        "cross_domain:shots={n},domain=a,disjoint=instances,few=skip",
        "low_shot_instance:frames={n},few=skip",
        "instance:steps={n},frames={n}",
        "new_classes:first={n},each={n},frames={n}",
    ]
)


@pytest.mark.slow
@given(examples=collections(), spec=specs, n=st.integers(1, 4), seed=st.integers(0), data=st.data())
def test_any_stream_is_disjoint_and_the_same_for_any_order_of_the_listing(
    examples: list[Example], spec: str, n: int, seed: int, data: st.DataObject
) -> None:
    spec = spec.format(n=n)
    try:
        stream = scenario(spec).stream(examples, seed)
    except DataError:
        assume(False)
    shuffled = data.draw(st.permutations(examples))
    assert scenario(spec).stream(shuffled, seed) == stream
    taught, tested = stream.taught, stream.tested
    assert len({e.path for e in [*taught, *tested]}) == len(taught) + len(tested)
    assert {e.label for e in tested} <= {e.label for e in taught}
    assert {e.split for e in taught} <= {"", "train"}
    assert {e.split for e in tested} <= {"", "test"}
    if "disjoint=instances" in spec:
        assert not {e.instance for e in taught} & {e.instance for e in tested}
    if not spec.startswith(("instance", "new_classes")):
        assert [len({e.label for e in step}) for step in stream.steps] == [1] * len(stream.steps)
        assert len({step[0].label for step in stream.steps}) == len(stream.steps)


@pytest.mark.slow
@given(examples=collections(), seed=st.integers(0), few=st.integers(1, 3))
def test_fewer_shots_are_the_first_of_more(examples: list[Example], seed: int, few: int) -> None:
    def shots(count: int) -> dict[str, tuple[Example, ...]]:
        stream = scenario(f"class_iid:shots={count},few=skip").stream(examples, seed)
        return {step[0].label: step for step in stream.steps}

    try:
        more = shots(few + 1)
    except DataError:
        assume(False)
    fewer = shots(few)
    assert all(fewer[label] == step[:few] for label, step in more.items())


# ---- class_iid


def test_each_class_is_one_step_and_its_other_pictures_are_tested() -> None:
    stream = scenario("class_iid:shots=5").stream(PLAIN, seed=0)
    assert sorted(step[0].label for step in stream.steps) == ["bowl", "hat", "mug", "toy"]
    assert [len(step) for step in stream.steps] == [5] * 4
    assert list(stream.tests) == ["test"]
    assert {*stream.taught, *stream.tested} == set(PLAIN)


def test_all_shots_are_the_whole_train_split_shuffled() -> None:
    stream = scenario("class_iid:shots=all").stream(SPLIT, seed=0)
    assert set(stream.taught) == {e for e in SPLIT if e.split == "train"}
    assert any(list(step) != sorted(step, key=lambda e: e.path) for step in stream.steps)


def test_disjoint_instances_are_taught_one_after_the_other() -> None:
    stream = scenario("class_iid:shots=5,disjoint=instances").stream(PLAIN, seed=0)
    for step in stream.steps:
        instances = [e.instance for e in step]
        assert sorted(Counter(instances).values()) == [1, 2, 2]
        assert instances == sorted(instances, key=instances.index)
    assert len(stream.tested) == 4 * 6


def test_disjoint_instances_need_known_instances(refusal: Refusal) -> None:
    unknown = [replace(example, instance="") for example in PLAIN]
    kept_apart = scenario("class_iid:disjoint=instances")
    message = refusal(DataError, lambda: kept_apart.stream(unknown, seed=0))
    assert message.endswith("has no known instance: choose disjoint=pictures and shared=labels")


@pytest.mark.parametrize("count", [4, 5])
def test_a_class_with_too_few_pictures_is_named_with_its_number(
    count: int, refusal: Refusal
) -> None:
    few = [*PLAIN, *pictures("lid", count)]
    message = refusal(DataError, lambda: scenario("class_iid:shots=5").stream(few, seed=0))
    assert message == (
        "6 pictures of each class are needed, 5 to teach and 1 to test; "
        f"lid has {count}: use fewer shots, or leave such classes out with few=skip"
    )


def test_a_class_with_too_few_pictures_can_be_left_out() -> None:
    few = [*PLAIN, *pictures("lid", 5)]
    stream = scenario("class_iid:shots=5,few=skip").stream(few, seed=0)
    assert "lid" not in {e.label for e in [*stream.taught, *stream.tested]}
    assert len(stream.steps) == 4


# ---- cross_domain


def test_one_domain_is_taught_and_each_domain_is_a_test_of_its_name() -> None:
    stream = scenario("cross_domain:shots=5,domain=cellar").stream(DOMAINS, seed=0)
    assert {e.domain for e in stream.taught} == {"cellar"}
    assert [len(step) for step in stream.steps] == [5] * 3
    assert {name: len(test) for name, test in stream.tests.items()} == {
        "same": 12, "attic": 27, "clean": 27,
    }  # fmt: skip
    assert next(iter(stream.tests)) == "same"
    for name, test in stream.tests.items():
        assert {e.domain for e in test} == {"cellar" if name == "same" else name}


@pytest.mark.parametrize(
    ("options", "examples", "message"),
    [
        ("domain=celar", DOMAINS, "no picture is of domain 'celar': did you mean 'cellar'?"),
        ("domain=zzz", DOMAINS, "no picture is of domain 'zzz': known: attic, cellar, clean"),
        ("shots=5", PLAIN, "no picture is of domain 'clean': the data have no domains"),
        ("shots=9,domain=attic", DOMAINS, "in domain attic, "),
        ("", [*DOMAINS, *pictures("mug", 9, domain="same")], "a domain must not be called 'same'"),
    ],
)
def test_data_whose_domain_cannot_be_taught_are_rejected(
    options: str, examples: list[Example], message: str, refusal: Refusal
) -> None:
    cross_domain = scenario(f"cross_domain:{options}" if options else "cross_domain")
    assert refusal(DataError, lambda: cross_domain.stream(examples, seed=0)).startswith(message)


# ---- videos


def by_video(examples: Iterable[Example]) -> dict[str, list[Example]]:
    videos = defaultdict(list)
    for example in examples:
        videos[example.video].append(example)
    return dict(videos)


TRAIN = by_video(e for e in VIDEOS if e.split == "train")
TEST = {e for e in VIDEOS if e.split == "test"}


def test_low_shot_teaches_one_train_video_per_class_with_its_frames_in_order() -> None:
    for seed in range(5):
        stream = scenario("low_shot_instance").stream(VIDEOS[::-1], seed)
        assert sorted(step[0].label for step in stream.steps) == ["bowl", "hat", "mug"]
        for step in stream.steps:
            assert list(step) == TRAIN[step[0].video]
        assert set(stream.tests["test"]) == TEST


@pytest.mark.parametrize(
    ("frames", "kept"), [(1, [0]), (3, [0, 2, 4]), (6, range(6)), (9, range(6))]
)
def test_frames_are_taken_evenly_spaced_from_the_first(frames: int, kept: Iterable[int]) -> None:
    stream = scenario(f"low_shot_instance:frames={frames}").stream(VIDEOS, seed=0)
    for step in stream.steps:
        assert [int(e.path.stem) for e in step] == list(kept)


def test_low_shot_needs_a_video_and_a_test_of_each_class(refusal: Refusal) -> None:
    more = [*VIDEOS, *video("test", "pixel/segment1/lid_01", 3)]
    message = refusal(DataError, lambda: scenario("low_shot_instance").stream(more, seed=0))
    assert "; lid has 0 to teach and 3 others to test: " in message
    stream = scenario("low_shot_instance:few=skip").stream(more, seed=0)
    assert set(stream.tests["test"]) == TEST


def test_instance_teaches_every_train_video_once_with_its_frames_in_order() -> None:
    stream = scenario("instance").stream(VIDEOS[::-1], seed=0)
    assert len(stream.steps) == 1
    order = list(dict.fromkeys(e.video for e in stream.steps[0]))
    assert [e for name in order for e in TRAIN[name]] == list(stream.steps[0])
    assert set(order) == set(TRAIN)
    assert order != sorted(order)
    assert set(stream.tests["test"]) == TEST


@pytest.mark.parametrize(("steps", "sizes"), [(2, [8, 8]), (3, [5, 5, 6]), (99, [1] * 16)])
def test_instance_is_divided_between_videos(steps: int, sizes: list[int]) -> None:
    whole = scenario("instance").stream(VIDEOS, seed=0)
    stream = scenario(f"instance:steps={steps}").stream(VIDEOS, seed=0)
    assert [len(by_video(step)) for step in stream.steps] == sizes
    assert stream.taught == whole.taught


@pytest.mark.parametrize("name", ["instance", "low_shot_instance", "new_classes"])
def test_videos_and_a_split_are_needed(name: str, refusal: Refusal) -> None:
    message = refusal(DataError, lambda: scenario(name).stream(PLAIN, seed=0))
    assert message == f"{name} needs data with a train and a test split, such as openloris"
    message = refusal(DataError, lambda: scenario(name).stream(SPLIT, seed=0))
    assert message.startswith(f"{name} needs videos, and ")


# ---- unknown objects


@pytest.mark.parametrize(("known", "taught"), [(1, 1), (2, 2), (1000, 4), ("half", 2)])
def test_some_labels_are_taught_and_all_are_tested(known: int | str, taught: int) -> None:
    whole = scenario("class_iid:shots=2").stream(PLAIN, seed=3)
    stream = scenario(f"class_iid:shots=2,known={known}").stream(PLAIN, seed=3)
    assert stream.steps == whole.steps[:taught]
    assert stream.tests == whole.tests


# ---- copies


def on_disk(examples: list[Example], folder: Path) -> list[Example]:
    """Write the pictures with contents of their own, but one in three with that of another."""
    moved = [replace(each, path=folder / each.path) for each in examples]
    for number, each in enumerate(moved):
        each.path.parent.mkdir(parents=True, exist_ok=True)
        each.path.write_text(f"{number if number % 3 else number // 2}")
    return moved


@pytest.mark.parametrize(
    ("spec", "examples"),
    [
        ("class_iid:shots=4", PLAIN),
        ("cross_domain:shots=4", DOMAINS),
        ("low_shot_instance", VIDEOS),
        ("instance", VIDEOS),
        ("new_classes:first=2,each=1", VIDEOS),
    ],
)
def test_copies_of_taught_pictures_are_tested_unless_contents_are_disjoint(
    spec: str, examples: list[Example], tmp_path: Path
) -> None:
    here = on_disk(examples, tmp_path)
    stream = scenario(spec).stream(here, seed=0)
    taught = {example.path.read_text() for example in stream.taught}
    copies = {each.path for each in stream.tested if each.path.read_text() in taught}
    assert copies
    assert stream.copies() == copies
    apart = scenario(f"{spec}{',' if ':' in spec else ':'}disjoint=content").stream(here, seed=0)
    assert apart.steps == stream.steps
    assert [each for each in stream.tested if each.path not in copies] == apart.tested


def test_a_test_of_nothing_but_copies_is_an_error(tmp_path: Path, refusal: Refusal) -> None:
    here = on_disk(pictures("mug", 6), tmp_path)
    for each in here:
        each.path.write_text("the same")
    message = "every test picture is a copy of a taught one: add other pictures"
    split = scenario("class_iid:shots=2,disjoint=content")
    assert refusal(DataError, lambda: split.stream(here, seed=0)) == message


# ---- options


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("class_iid:shots=0", "shots=0 is out of range: give 1 to 1e+06"),
        ("class_iid:shots=some", "shots=some is not known: choose all"),
        (
            "class_iid:disjoint=boxes",
            "disjoint=boxes is not known: choose pictures or content or instances",
        ),
        ("instance:disjoint=boxes", "disjoint=boxes is not known: choose pictures or content"),
        ("class_iid:few=drop", "few=drop is not known: choose error or skip"),
        ("class_iid:known=0", "known=0 is out of range: give 1 to 1e+06"),
        ("class_iid:known=none", "known=none is not known: choose all or half"),
        ("cross_domain:shots=0", "shots=0 is out of range: give 1 to 1e+06"),
        ("low_shot_instance:frames=-1", "frames=-1 is out of range: give 1 to 1e+06"),
        ("instance:steps=0", "steps=0 is out of range: give 1 to 1e+06"),
        ("class_idd", "unknown scenario 'class_idd': did you mean 'class_iid'?"),
    ],
)
def test_a_wrong_spec_is_rejected(spec: str, message: str, refusal: Refusal) -> None:
    assert refusal(SpecError, lambda: scenario(spec)) == message
