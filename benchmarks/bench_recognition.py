"""The cost of calibrated predictions: `python benchmarks/bench_recognition.py`.

The prediction of a learner is compared with the best label of slda alone. The difference is given
as a percentage of the time that the backbone needs for one picture. The first prediction after a
taught picture also computes leave-one-out scores, so its time is printed separately.
"""

import argparse
from collections.abc import Callable

import numpy as np
from measuring import alternating, finish, report, seconds

from robocle.backbones import Backbone, backbone
from robocle.classifiers import classifier
from robocle.classifiers.slda.answer import Answer
from robocle.learner import Learner
from robocle.profiles import DEFAULT

WIDTH, BLOCKS = 3840, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: agreement only")
    quick = parser.parse_args().quick
    network = backbone()
    for labels, shots in ((10, 5), (40, 10)) if quick else ((10, 5), (40, 10), (100, 20)):
        compare(network, labels, shots, rounds=5 if quick else 200)
    growth(*((200, 800) if quick else (1000, 8000)))
    for labels in (20,) if quick else (50, 500):
        world_cost(labels)
    finish(demanding=not quick)


def growth(few: int, many: int) -> None:
    """Report how the first answer after a lesson grows with the labels: 1 is in proportion."""
    times = [leave_one_out_seconds(labels) for labels in (few, many)]
    print(f"answer after a lesson: {few} labels {1e3 * times[0]:.0f} ms, "
          f"{many} labels {1e3 * times[1]:.0f} ms")  # fmt: skip
    growth = times[1] / times[0] / (many / few)
    report(f"growth from {few} to {many} labels", growth, 2, at_least=False, unit="x proportional")


def world_cost(labels: int, shots: int = 3, rounds: int = 5) -> None:
    """Report what scoring the world's pictures adds to the first prediction after a lesson."""
    rng = np.random.default_rng(3)
    width = 3 * 1280 + 2 * 672
    plain = classifier(DEFAULT.classifier, blocks="3+2x672")
    plain.use_world(rng.random((319, width), np.float32))
    samples = rng.random((labels * shots, width), np.float32)
    for number, sample in enumerate(samples):
        plain.learn(sample, str(number % labels))
    plain.scores(samples[:1])
    solving, scoring = [], []
    for sample in samples[:rounds]:
        plain.learn(sample, "0")
        solving.append(seconds(lambda: plain.scores(samples[:1])))
        scoring.append(seconds(lambda: require(plain.answer()).world_familiarity))
    print(f"{labels} labels: after a lesson {1e3 * min(solving):.1f} ms, and "
          f"{1e3 * min(scoring):.1f} ms for the world")  # fmt: skip
    report(f"the world's scores / the rest after a lesson, {labels} labels",
           min(scoring) / min(solving), 1, at_least=False, unit="x")  # fmt: skip


def leave_one_out_seconds(labels: int, width: int = 192, shots: int = 2) -> float:
    rng = np.random.default_rng(2)
    plain = classifier(DEFAULT.classifier, blocks=BLOCKS)
    for label, centre in enumerate(rng.random((labels, width))):
        for embedding in centre + 0.5 * rng.random((shots, width)):
            plain.learn(embedding, str(label))
    plain.scores(rng.random((1, width)))

    def lesson() -> None:
        plain.learn(rng.random(width), "0")
        assert require(plain.answer()).leave_one_out is not None

    lesson()
    return seconds(lesson, repeats=5)


def require(answer: Answer | None) -> Answer:
    assert answer is not None
    return answer


def compare(network: Backbone, labels: int, shots: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    plain, learner = classifier(DEFAULT.classifier, blocks=BLOCKS), Learner(network)
    centres = rng.random((labels, WIDTH), np.float32)
    for label, centre in enumerate(centres):
        for embedding in centre + 0.5 * rng.random((shots, WIDTH), np.float32):
            plain.learn(embedding, str(label))
            learner.teach_embedding(embedding, str(label))
    query = centres[0] + 0.5 * rng.random(WIDTH, np.float32)
    pixels = rng.integers(0, 255, (1, network.input_size, network.input_size, 3), np.uint8)

    def best_label() -> str:
        return plain.labels[int(plain.scores(query[None])[0].argmax())]

    firsts = [_milliseconds(best_label), _milliseconds(lambda: learner.predict_embedding(query))]
    backbone_alone, reference, ours = alternating(
        [
            lambda: network.features(pixels),
            best_label,
            lambda: learner.predict_embedding(query),
        ],
        rounds,
    )
    assert learner.predict_embedding(query).nearest == best_label()
    print(
        f"{labels} labels x {shots}: backbone {1e3 * backbone_alone:.2f} ms, "
        f"slda {1e3 * reference:.3f} ms, prediction {1e3 * ours:.3f} ms; "
        f"first after a taught picture {firsts[0]:.0f} and {firsts[1]:.0f} ms"
    )
    overhead = 100 * (ours - reference) / backbone_alone
    report(f"overhead with {labels} labels", overhead, 10, at_least=False, unit="% of the backbone")


def _milliseconds(work: Callable[[], object]) -> float:
    return 1e3 * seconds(work)


if __name__ == "__main__":
    main()
