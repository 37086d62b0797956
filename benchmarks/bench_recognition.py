"""What knowing the unknown costs: `python benchmarks/bench_recognition.py`.

A learner's prediction against the label with the best score of plain slda, as a share of the time
the backbone takes for the picture. After a lesson the learner rehearses once: that is shown, too.
"""

import argparse
from collections.abc import Callable

import numpy as np
from measuring import alternating, finish, report, seconds

from robocle.backbones import Backbone, backbone
from robocle.classifiers import classifier
from robocle.learner import DEFAULT_CLASSIFIER, Learner

WIDTH, BLOCKS = 3840, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: agreement only")
    quick = parser.parse_args().quick
    network = backbone()
    for labels, shots in ((10, 5), (40, 10)) if quick else ((10, 5), (40, 10), (100, 20)):
        compare(network, labels, shots, rounds=5 if quick else 200)
    finish(demanding=not quick)


def compare(network: Backbone, labels: int, shots: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    plain, learner = classifier(DEFAULT_CLASSIFIER, blocks=BLOCKS), Learner(network)
    centres = rng.random((labels, WIDTH), np.float32)
    for label, centre in enumerate(centres):
        for vector in centre + 0.5 * rng.random((shots, WIDTH), np.float32):
            plain.learn(vector, str(label))
            learner.teach_embedding(vector, str(label))
    question = centres[0] + 0.5 * rng.random(WIDTH, np.float32)
    pixels = rng.integers(0, 255, (1, network.input_size, network.input_size, 3), np.uint8)

    def answer() -> str:
        return plain.labels[int(plain.scores(question[None])[0].argmax())]

    firsts = [_milliseconds(answer), _milliseconds(lambda: learner.predict_embedding(question))]
    looking, reference, ours = alternating(
        [
            lambda: network.features(pixels),
            answer,
            lambda: learner.predict_embedding(question),
        ],
        rounds,
    )
    assert learner.predict_embedding(question).nearest == answer()
    print(
        f"{labels} labels x {shots}: backbone {1e3 * looking:.2f} ms, slda {1e3 * reference:.3f} "
        f"ms, prediction {1e3 * ours:.3f} ms; first after a lesson {firsts[0]:.0f} and "
        f"{firsts[1]:.0f} ms"
    )
    overhead = 100 * (ours - reference) / looking
    report(f"overhead with {labels} labels", overhead, 10, at_least=False, unit=" % of looking")


def _milliseconds(work: Callable[[], object]) -> float:
    return 1e3 * seconds(work)


if __name__ == "__main__":
    main()
