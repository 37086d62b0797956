"""The parts that a state was taught with. Only a learner with the same parts can use it."""

from dataclasses import dataclass

from robocle.errors import StateError


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
    """The views of a taught picture. The earliest states did not record them."""
    prediction_views: str = "plain"
    """The views of a picture to recognise. Early states did not record them. What was learned does
    not depend on them."""
    world: str = ""
    """The identity of the world; empty without one. What was learned does not depend on it."""

    def require_same(self, name: str, backbone: str, fingerprint: str, preprocessing: str) -> None:
        """Require that a backbone computes the same feature maps as these parts.

        Args:
            name: What was learned with these parts, for the message.
            backbone: The name of the backbone in use.
            fingerprint: The fingerprint of the backbone in use.
            preprocessing: The preprocessing in use.

        Raises:
            StateError: The fingerprint or the preprocessing differs.
        """
        if self.fingerprint != fingerprint:
            raise StateError(
                f"{name} was learned on {self.backbone} (sha {self.fingerprint[:8]}), not on "
                f"{backbone} (sha {fingerprint[:8]}): load it with that backbone"
            )
        if self.preprocessing != preprocessing:
            raise StateError(
                f"{name} was learned with preprocessing {self.preprocessing!r}, and this robocle "
                f"has {preprocessing!r}: use the robocle version that wrote it"
            )

    def require_mergeable(self, other: "Parts") -> None:
        """Require that what was learned with other parts can be merged into these.

        Raises:
            StateError: A part differs that what was learned depends on.
        """
        other.require_same("the other learner", self.backbone, self.fingerprint, self.preprocessing)
        for mine, theirs in ((self.pooling, other.pooling), (self.classifier, other.classifier)):
            if theirs != mine:
                raise StateError(
                    f"cannot merge what was learned with {theirs} into {mine}: both learners must "
                    "have the same parts"
                )
