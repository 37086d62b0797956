"""Finding: the boxes of a picture that show taught objects.

A finder suggests boxes, and each is recognised like a picture of its own. Several boxes may show
one object. So may the whole picture, if it shows only one object. Then the best box is a nearer
look.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robocle.finders import Finder
from robocle.finders.boxes import PixelBox, area, chosen, covered, looked_at
from robocle.images import Picture, read
from robocle.images.reading import decoded
from robocle.learner.embedding import Embedder, Embedding
from robocle.recognition import NEVER_UNKNOWN, SMALLEST_RATE, Rate, require_rate
from robocle.recognition.temporal_filter import Announcement
from robocle.spec import require_whole
from robocle.types import Prediction, numbers_of

BOXES, MOST_BOXES = 8, 64
"""How many boxes are looked at unless a program says otherwise, and at most."""
SAME_OBJECT = 0.6
"""Two boxes show one object if one of them covers this fraction of the other."""
LEAST = 0.7
"""The lowest confidence of a label in a frame with boxes. Confidences assume that half of all
objects were taught. Of the boxes in a frame, about three in ten show a taught object; with these
odds, a label from here on is more probable than not."""


class Find(NamedTuple):
    """An object in a picture: where it is, and what."""

    box: PixelBox
    """(x, y, width, height) in pixels of the upright picture."""
    prediction: Prediction

    def as_values(self, top: int = 3) -> dict[str, Any]:
        """Return the find as values for JSON, as all programs print and send it.

        Args:
            top: How many of the best labels to list with their confidences.

        Example:
            >>> from robocle import Prediction
            >>> mug = Prediction("mug", 0.6, {"mug": 5.0}, "mug", 0.75, {"mug": 0.6})
            >>> values = Find((10.0, 20.26, 64.0, 48.0), mug).as_values()
            >>> values["box"], values["verdict"], values["label"], values["likelihood"]
            ([10.0, 20.3, 64.0, 48.0], 'known', 'mug', 'probably')
            >>> values["confidence"], values["confidences"], values["unknown_probability"]
            (0.6, {'mug': 0.6}, 0.4)
            >>> values["sure"], values["nothing"], values["nearest"]
            (False, '', 'mug')
        """
        return described(self.box, self.prediction, top)


def described(box: PixelBox, seen: Prediction | Announcement, top: int) -> dict[str, Any]:
    """Return a box and what it shows as values for JSON, rounded.

    Args:
        box: The box.
        seen: What it shows.
        top: How many of the best labels to list with their confidences.
    """
    return {
        "box": [round(number, 1) for number in box],
        "verdict": seen.verdict,
        "label": seen.label,
        "sure": seen.sure,
        "likelihood": seen.likelihood if seen.label is not None else "",
        "nothing": seen.nothing,
        "confidence": round(seen.confidence, 4),
        "nearest": seen.nearest,
        "confidences": {label: round(number, 4) for label, number in seen.top(top)},
        "unknown_probability": round(seen.unknown_probability, 4),
    }


Recognise = Callable[[Embedding], Prediction]
"""Returns the prediction for an embedding."""
Rows = Sequence[tuple[PixelBox, Embedding]]
"""The whole picture and the boxes, each with its embedding."""


def embedded_boxes(embedder: Embedder, finder: Finder | None, picture: Picture, most: int) -> Rows:
    """Return the embedding of the whole picture and of each box, in one run of the backbone.

    Args:
        embedder: Embeds pictures to recognise.
        finder: Finds the boxes; None for the whole picture only.
        picture: The picture. It is decoded once.
        most: How many boxes to look at, at most, besides the whole picture.

    Raises:
        ImageError: The picture cannot be used.
        FinderError: The finder fails.
        SpecError: `most` is out of range.
    """
    require_whole("most", most, 1, MOST_BOXES)
    image, size = decoded(picture)
    boxes: list[PixelBox] = []
    if finder is not None:
        boxes = chosen(finder.corners(read(image, finder.input_size).pixels), size, most)
    regions = [None, *(looked_at(box, size) for box in boxes)]
    pictures = [image] * len(regions)
    rows = embedder.embed_many(pictures, regions, batch_size=len(regions), threads=1)
    width, height = size
    return list(zip([(0.0, 0.0, float(width), float(height)), *boxes], rows, strict=True))


def found(rows: Rows, recognise: Recognise, least: float = LEAST) -> list[Find]:
    """Return each object in a picture once: known ones by confidence, then unknown ones.

    Args:
        rows: The embeddings of the whole picture and of the boxes, as `embedded_boxes` returns
            them.
        recognise: Returns the prediction for an embedding.
        least: The lowest confidence of a known object, if there are boxes.
    """
    finds = [Find(box, recognise(embedding)) for box, embedding in rows]
    if len(finds) > 1:
        finds = [Find(box, _known_from(each, least)) for box, each in finds]
    return merged(finds)


def _known_from(found: Prediction, least: float) -> Prediction:
    """Return a prediction that is known only from a confidence on."""
    if found.label is None or found.confidence >= least:
        return found
    scores, confidences = (numbers_of(found, each).unread() for each in ("scores", "confidences"))
    return replace(found, label=None, sure=False, scores=scores, confidences=confidences)


def with_best_box(rows: Rows, recognise: Recognise, strictly: Recognise) -> Prediction:
    """Return the prediction for a picture and the most familiar of its boxes together.

    Their embeddings are averaged. That counts if it is more familiar than the picture alone: in
    clutter, the boxes may show other objects. What the picture alone does not show as known has a
    second chance in this way, and so has an object that was not taught.

    Args:
        rows: The embeddings of the whole picture and of the boxes, as `embedded_boxes` returns
            them.
        recognise: Returns the prediction for an embedding.
        strictly: Returns it for a second chance.
    """
    whole, *boxes = (recognise(embedding) for _, embedding in rows)
    if whole.nothing or not boxes:
        return whole
    best = max(range(len(boxes)), key=lambda number: boxes[number].familiarity)
    values = (rows[0][1].values + rows[1 + best][1].values) * np.float32(0.5)
    seen = Embedding(values, "prediction")
    both = recognise(seen) if whole.label is not None else strictly(seen)
    return both if both.familiarity > whole.familiarity else whole


def second_rate(false_accept: Rate) -> float:
    """Return the rate for a second chance: half of it, so that both together keep about to it.

    Raises:
        SpecError: The rate is out of range.

    >>> second_rate("normal"), second_rate(0.001), second_rate(1)
    (0.025, 0.001, 1.0)
    """
    rate = require_rate(false_accept)
    return rate if rate == NEVER_UNKNOWN else max(rate / 2, SMALLEST_RATE)


def merged(finds: Iterable[Find]) -> list[Find]:
    """Return each object once: known ones by confidence, then unknown ones as they were found.

    Args:
        finds: The whole picture, then the boxes.
    """
    whole, *boxes = finds
    known = _once(find for find in _by_confidence(boxes) if find.prediction.label is not None)
    taken = [find.box for find in known]
    unknown = [
        find
        for find in boxes
        if find.prediction.label is None and not any(shows_same(find.box, box) for box in taken)
    ]
    label = whole.prediction.label
    if label is None:
        return [*(known or [whole]), *unknown]
    if all(find.prediction.label != label for find in known):
        known = _by_confidence([whole, *known])
    return [*known, *unknown]


def _by_confidence(finds: Iterable[Find]) -> list[Find]:
    """Return finds with the best one first: of about the same confidence, the smallest box."""
    return sorted(finds, key=lambda find: (-int(10 * find.prediction.confidence), area(find.box)))


def _once(finds: Iterable[Find]) -> list[Find]:
    """Return the finds without those that show the same object as one before them."""
    kept: list[Find] = []
    for find in finds:
        same = (each for each in kept if each.prediction.label == find.prediction.label)
        if not any(shows_same(each.box, find.box) for each in same):
            kept.append(find)
    return kept


def shows_same(one: PixelBox, other: PixelBox) -> bool:
    """Return whether two boxes with the same label show one object.

    >>> shows_same((0, 0, 50, 50), (10, 10, 20, 20)), shows_same((0, 0, 50, 50), (40, 0, 50, 50))
    (True, False)
    """
    return covered(one, other) > SAME_OBJECT
