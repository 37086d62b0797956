"""Embeddings of pictures of any kind, one at a time or many in batches.

An embedding is made either for teaching or for prediction. The two differ if their views do, so an
`Embedding` records its purpose.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, repeat, zip_longest
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.classifiers.samples import embedding_numbers
from robocle.errors import FeatureError, ImageError
from robocle.images import Picture, SquareImage, read
from robocle.images.boxes import Box
from robocle.images.quality import Complaint, complaints, nothing_to_see
from robocle.learner.pipeline import Pipeline, feature_maps, pooled
from robocle.spec import require_whole
from robocle.types import FeatureMaps

Purpose = Literal["teaching", "prediction"]
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
_MISSING = object()

LARGEST_TAUGHT = 1e30
"""The largest absolute value in an embedding that a learner takes. Classifiers add up squares, and
states must be able to hold the sums."""
BATCH_SIZE = 8
"""Pictures per run of the backbone. Larger batches are not faster on a CPU."""

MOST_CORES = 8


@dataclass(frozen=True, eq=False)
class Embedding:
    """The embedding of one picture."""

    values: NDArray[np.float32]
    """(width,)"""
    purpose: Purpose
    complaints: tuple[Complaint, ...] = ()
    """The faults of the picture, if it was embedded for teaching."""
    nothing: str = ""
    """Why there is nothing to see in a picture that was embedded for prediction; else empty."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype) if copy else np.asarray(self.values, dtype)


def values_for(purpose: Purpose, embedding: Embedding | ArrayLike) -> NDArray[Any]:
    """Return the numbers of an embedding.

    Args:
        purpose: What the numbers will be used for.
        embedding: An embedding, or an array, whose purpose is not checked.

    Raises:
        FeatureError: The embedding was made for another purpose, is not an array of real
            numbers with one axis, or has a value that is not finite or beyond LARGEST_TAUGHT.
    """
    if isinstance(embedding, Embedding) and embedding.purpose != purpose:
        raise FeatureError(
            f"this embedding was made for {embedding.purpose}, not for {purpose}: "
            f"use embed_for_{purpose}"
        )
    return embedding_numbers(embedding, 1, LARGEST_TAUGHT)


class Embedder:
    """Embeds pictures for one purpose.

    Args:
        pipeline: The pipeline of a learner.
        purpose: What the embeddings are for.
    """

    def __init__(self, pipeline: Pipeline, purpose: Purpose) -> None:
        self.pipeline = pipeline if purpose == "teaching" else pipeline.for_prediction
        self.purpose = purpose

    def __repr__(self) -> str:
        return f"Embedder({self.pipeline!r}, {self.purpose!r})"

    def embed(self, picture: Picture, box: Box | None = None) -> Embedding:
        """Return the embedding of a picture, or of the region that a box covers.

        Raises:
            ImageError: The picture or the box cannot be used.
        """
        return self.look(picture, box)[0]

    def look(self, picture: Picture, box: Box | None = None) -> tuple[Embedding, FeatureMaps]:
        """Return the embedding of a picture, and the feature maps of its views.

        Raises:
            ImageError: The picture or the box cannot be used.
        """
        image = read(picture, self.pipeline.backbone.input_size, box)
        maps = feature_maps(self.pipeline.backbone, self.pipeline.views, [image.pixels])
        (values,) = pooled(self.pipeline.pooling, maps, 1)
        return self._embedding(values, image), maps

    def embed_many(
        self,
        pictures: Iterable[Picture],
        boxes: Iterable[Box | None] | None = None,
        *,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> Iterator[Embedding]:
        """Yield the embeddings of pictures, in their order.

        Args:
            pictures: The pictures. They are read lazily.
            boxes: One entry per picture: its box, or None for the whole picture.
            batch_size: How many pictures go through the backbone at once.
            threads: How many batches are embedded at the same time; None for one per core.

        Raises:
            ImageError: A picture or a box cannot be used.
            FeatureError: The numbers of pictures and boxes differ.
            SpecError: A number is out of range.
        """
        for outcome in self.embed_each(pictures, boxes, batch_size=batch_size, threads=threads):
            if isinstance(outcome, ImageError):
                raise outcome
            yield outcome

    def embed_each(
        self,
        pictures: Iterable[Picture],
        boxes: Iterable[Box | None] | None = None,
        *,
        batch_size: int = BATCH_SIZE,
        threads: int | None = None,
    ) -> Iterator[Embedding | ImageError]:
        """Yield the embedding of each picture, or the error if it cannot be read.

        The arguments and the other errors are those of `embed_many`.
        """
        if isinstance(pictures, str | os.PathLike):
            raise ImageError(f"{pictures} is a single picture: give a list of pictures")
        require_whole("batch_size", batch_size, 1, 4096)
        threads = cores() if threads is None else threads
        require_whole("threads", threads, 1, 256)
        pairs = zip(pictures, repeat(None)) if boxes is None else _paired(pictures, boxes)
        for batch in in_order(self._batch, _batches(pairs, batch_size), threads):
            yield from batch

    def _batch(self, pairs: list[tuple[Picture, Box | None]]) -> list[Embedding | ImageError]:
        images = [self._read(picture, box) for picture, box in pairs]
        good = [image for image in images if isinstance(image, SquareImage)]
        rows = iter(self.pipeline.embed([image.pixels for image in good]) if good else ())
        return [
            image if isinstance(image, ImageError) else self._embedding(next(rows), image)
            for image in images
        ]

    def _read(self, picture: Picture, box: Box | None) -> SquareImage | ImageError:
        try:
            return read(picture, self.pipeline.backbone.input_size, box)
        except ImageError as error:
            return error

    def _embedding(self, values: NDArray[np.float32], image: SquareImage) -> Embedding:
        if self.purpose == "teaching":
            return Embedding(values, self.purpose, complaints(image))
        return Embedding(values, self.purpose, nothing=nothing_to_see(image))


def cores() -> int:
    """Return how many cores this process may use, but at most MOST_CORES."""
    available = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return min(len(available(0)) if available else os.cpu_count() or 1, MOST_CORES)


def in_order(
    work: Callable[[Item], Outcome], items: Iterable[Item], threads: int
) -> Iterator[Outcome]:
    """Yield work(item) for each item in order; at most two items per thread are in flight.

    >>> list(in_order(abs, [3, -1, -2], threads=2))
    [3, 1, 2]
    """
    items = iter(items)
    first = list(islice(items, 2))
    if threads == 1 or len(first) < 2:  # a thread would only cost time
        yield from map(work, chain(first, items))
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # slow to import

    items = chain(first, items)
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Outcome]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) == 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _paired(
    pictures: Iterable[Picture], boxes: Iterable[Box | None]
) -> Iterator[tuple[Picture, Box | None]]:
    for picture, box in zip_longest(pictures, boxes, fillvalue=_MISSING):
        if picture is _MISSING or box is _MISSING:
            raise FeatureError("there must be one box per picture: give None for no box")
        yield picture, box  # type: ignore[misc]


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
