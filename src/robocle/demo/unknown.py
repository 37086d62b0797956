"""Unknown objects in the demo: learners are tested on objects that they were not taught.

The objects are divided into three parts. In each of three rounds one part is not taught, so every
object is unknown in one round and taught in the other two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from robocle.backbones import Backbone
from robocle.demo.pictures import DemoPicture
from robocle.learner import Learner
from robocle.types import Embeddings, Prediction

ROUNDS = 3
Kind = Literal["not taught", "taught", "other object"]
Outcome = Literal["right", "unknown", "wrong"]
KINDS: dict[Kind, str] = {
    "not taught": "objects that were not taught",
    "taught": "the taught objects",
    "other object": "other objects of the taught categories",
}
"""Why each picture is known or unknown, in words."""


@dataclass(frozen=True)
class OpenSetTest:
    """The prediction for one test picture in one round.

    Attributes:
        picture: The picture.
        kind: Whether its category was taught, and if so, whether it shows the taught object.
        prediction: The prediction, at the default rate.
    """

    picture: DemoPicture
    kind: Kind
    prediction: Prediction

    @property
    def is_called_unknown(self) -> bool:
        """Whether the learner called the object unknown."""
        return self.prediction.label is None

    @property
    def outcome(self) -> Outcome:
        """What became of a picture whose category was taught."""
        if self.is_called_unknown:
            return "unknown"
        return "right" if self.prediction.label == self.picture.category else "wrong"


def run_open_set(
    network: Backbone, pictures: Sequence[DemoPicture], embeddings: Sequence[Embeddings]
) -> tuple[OpenSetTest, ...]:
    """Teach and test the default learner in all rounds.

    Args:
        network: The backbone that computed the embeddings.
        pictures: All pictures of the demo.
        embeddings: The embedding (1, width) of each picture by the default learner.
    """
    categories = sorted({picture.category for picture in pictures})
    pairs = [(picture, rows[0]) for picture, rows in zip(pictures, embeddings, strict=True)]
    tests: list[OpenSetTest] = []
    for number in range(ROUNDS):
        held_out = frozenset(categories[number::ROUNDS])
        learner = Learner(network)
        for picture, embedding in pairs:
            if picture.is_taught and picture.category not in held_out:
                learner.teach_embedding(embedding, picture.category)
        tests += [
            OpenSetTest(picture, _kind(picture, held_out), learner.predict_embedding(embedding))
            for picture, embedding in pairs
            if not picture.is_taught
        ]
    return tuple(tests)


def _kind(picture: DemoPicture, held_out: frozenset[str]) -> Kind:
    if picture.category in held_out:
        return "not taught"
    return "other object" if picture.is_other_instance else "taught"
