"""The pipeline: square pixels to embeddings, through views, backbone and pooling.

The learner, the evaluation, the robustness check, the demo and the int8 comparison all use it, so a
picture gets the same embedding everywhere. Teaching and prediction differ only in their views: a
picture may be embedded as the mean over several, see `robocle.images.views`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from robocle.backbones import (
    BACKBONES,
    Backbone,
    backbone,
    backbone_of_state,
    earlier_channels,
)
from robocle.backbones.added import how_to_add, is_int8
from robocle.blocks import Layout
from robocle.classifiers import CLASSIFIERS, StreamingClassifier
from robocle.errors import BackboneError, SpecError, StateError
from robocle.images import PREPROCESSING
from robocle.images.views import VIEWS, Plain, Views
from robocle.poolings import POOLINGS, Pooling, block_layout
from robocle.spec import parse_spec
from robocle.types import Embeddings, FeatureMaps, Pixels


@dataclass(frozen=True)
class Parts:
    """The specs of a learner's parts, with every option written out."""

    backbone: str
    fingerprint: str
    """A hash of the backbone; equal fingerprints mean equal feature maps."""
    preprocessing: str
    """The version of the code that turns a picture into pixels."""
    pooling: str
    classifier: str
    views: str = "plain"
    """The views of a taught picture."""
    prediction_views: str = "plain"
    """The views of a picture to recognise. What was learned does not depend on them."""
    world: str = ""
    """The identity of the world; empty without one. What was learned does not depend on it."""

    @classmethod
    def of(cls, name: str, values: Mapping[str, str]) -> "Parts":
        """Return the parts that a state names.

        Args:
            name: The state, for messages.
            values: The specs by name.

        Raises:
            StateError: Some are missing, or there are others.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise StateError(f"{name} is damaged: its parts cannot be read ({error})") from error

    def require_same(
        self,
        name: str,
        backbone: str,
        fingerprint: str,
        preprocessing: str,
        advice: str = "leave out the backbone, and the state finds its own",
    ) -> None:
        """Require that a backbone computes the same feature maps as these parts.

        Args:
            name: What was learned with these parts, for the message.
            backbone: The name of the backbone in use.
            fingerprint: The fingerprint of the backbone in use.
            preprocessing: The preprocessing in use.
            advice: What to do about another backbone.

        Raises:
            StateError: The fingerprint or the preprocessing differs.
        """
        if self.fingerprint != fingerprint:
            raise StateError(
                f"{name} was learned on {self.backbone} (sha {self.fingerprint[:8]}), not on "
                f"{backbone} (sha {fingerprint[:8]}): {advice}"
            )
        if self.preprocessing != preprocessing:
            raise StateError(
                f"{name} was learned with preprocessing {self.preprocessing!r}, and this robocle "
                f"has {preprocessing!r}: use the robocle version that wrote it"
            )

    def require_mergeable(self, other: "Parts", name: str = "the other learner") -> None:
        """Require that what was learned with other parts can be merged into these.

        Args:
            other: The other parts.
            name: What has them.

        Raises:
            StateError: A part differs that what was learned depends on.
        """
        advice = f"only what was learned on {self.backbone} can be merged"
        other.require_same(name, self.backbone, self.fingerprint, self.preprocessing, advice)
        for mine, theirs in ((self.pooling, other.pooling), (self.classifier, other.classifier)):
            if theirs != mine:
                raise StateError(
                    f"cannot merge what was learned with {theirs} into {mine}: {name} must have "
                    "the same parts"
                )


@dataclass(frozen=True)
class Pipeline:
    """Views, backbone and pooling, applied in this order."""

    backbone: Backbone
    pooling: Pooling
    views: Views
    """The views of a taught picture."""
    prediction_views: Views = field(default_factory=Plain)
    """The views of a picture to recognise."""

    @classmethod
    def build(
        cls,
        network: str | Backbone,
        pooling: str,
        views: str = "plain",
        prediction_views: str = "plain",
    ) -> Self:
        """Return the pipeline that the specs describe.

        Args:
            network: A backbone, or its spec.
            pooling: A pooling spec, such as "moments:r=3,form=root".
            views: A views spec, such as "centre".
            prediction_views: A views spec, for pictures to recognise.
        """
        loaded = backbone(network) if isinstance(network, str) else network
        both = VIEWS.build(views), VIEWS.build(prediction_views)
        return cls(loaded, POOLINGS.build(pooling), *both)

    @classmethod
    def of_state(
        cls,
        name: str,
        parts: Parts,
        network: str | Backbone | None = None,
        prediction_views: str | None = None,
    ) -> Self:
        """Return the pipeline that a state was learned with.

        Args:
            name: The state, for messages.
            parts: Its parts.
            network: A backbone to use instead of loading the recorded one.
            prediction_views: The views of pictures to recognise, instead of the recorded ones.

        Raises:
            StateError: A part is not installed, or the backbone or the preprocessing differs.
        """
        try:
            loaded = network or backbone_of_state(parts.backbone, parts.fingerprint)
            found = cls.build(loaded, parts.pooling, parts.views, parts.prediction_views)
        except (SpecError, BackboneError) as error:
            raise StateError(f"{name} needs a part that is not installed: {error}") from error
        here = found.backbone
        if here.name == parts.backbone and here.fingerprint != parts.fingerprint:
            raise StateError(_another(name, parts, here))
        parts.require_same(name, here.name, here.fingerprint, PREPROCESSING)
        if prediction_views is None:
            return found
        return replace(found, prediction_views=VIEWS.build(prediction_views))

    @property
    def blocks(self) -> Layout:
        """The layout of the blocks of an embedding."""
        return block_layout(self.pooling, earlier_channels(self.backbone))

    @property
    def for_prediction(self) -> Self:
        """The pipeline that embeds pictures to recognise."""
        return replace(self, views=self.prediction_views)

    def parts(self, classifier: StreamingClassifier) -> Parts:
        """Return the parts of a learner with this pipeline, with every option written out."""
        return Parts(
            backbone=self.backbone.name,
            fingerprint=self.backbone.fingerprint,
            preprocessing=PREPROCESSING,
            pooling=POOLINGS.describe(self.pooling),
            classifier=CLASSIFIERS.describe(classifier),
            views=VIEWS.describe(self.views),
            prediction_views=VIEWS.describe(self.prediction_views),
        )

    def require_given(self, name: str, classifier: str, given: Mapping[str, str | None]) -> None:
        """Require that the parts a user names for a state are those that it was learned with.

        Args:
            name: The state, for messages.
            classifier: The spec of its classifier; this pipeline has its other parts.
            given: The specs of parts, by the names that `Parts` has for them; None for any.

        Raises:
            StateError: A part differs in its name or in an option.
            SpecError: A spec names an unknown part or option.
        """
        kinds = ("pooling", "classifier", "views", "prediction_views")
        if not any(given.get(kind) for kind in kinds):
            return
        mine = self.parts(CLASSIFIERS.build(classifier))
        specs = (given.get(kind) or getattr(mine, kind) for kind in kinds if kind != "classifier")
        wanted = Pipeline.build(self.backbone, *specs)
        built = CLASSIFIERS.build(given.get("classifier") or mine.classifier, blocks=wanted.blocks)
        theirs = wanted.parts(built)
        for kind in kinds:
            has, other = getattr(mine, kind), getattr(theirs, kind)
            if has != other:
                named = kind.replace("_", " ")
                raise StateError(
                    f"{name} exists and keeps its {named} {has}, not {other}: leave out the "
                    f"{named}, or start a new state"
                )

    def embed(self, pictures: Sequence[Pixels]) -> Embeddings:
        """Return one embedding per picture, (n, width), in one run of the backbone.

        Args:
            pictures: Square pictures (side, side, 3), as `robocle.images.to_pixels` returns them.
        """
        maps = feature_maps(self.backbone, self.views, pictures)
        return pooled(self.pooling, maps, len(pictures))


def _another(state: str, parts: Parts, here: Backbone) -> str:
    """Return the message about a backbone that has the right name, but is another one."""
    if is_int8(here.name):
        what_to_do = f"to have that one again, {how_to_add(here.name)}"
    elif parse_spec(here.name).name == "onnx":
        what_to_do = "leave out the backbone, and the state finds its own"
    elif parse_spec(here.name).name in BACKBONES.builtin():
        what_to_do = "use the robocle version that wrote it"
    else:
        what_to_do = "add that one again, with --replace"
    return (
        f"{state} was learned on another {here.name} (sha {parts.fingerprint[:8]}) than the one on "
        f"this machine (sha {here.fingerprint[:8]}): {what_to_do}"
    )


def feature_maps(network: Backbone, views: Views, pictures: Sequence[Pixels]) -> FeatureMaps:
    """Return the feature maps of all views of all pictures, one picture after another."""
    return network.features(np.concatenate([views(pixels) for pixels in pictures]))


def pooled(pooling: Pooling, maps: FeatureMaps, pictures: int) -> Embeddings:
    """Return one embedding per picture: the mean over its views' pooled maps."""
    rows = pooling(maps)
    embeddings: Embeddings = rows.reshape(pictures, -1, rows.shape[1]).mean(axis=1)
    return embeddings
