"""The parts that a state was learned with. Only a learner of the same parts can continue it."""

from dataclasses import dataclass

from robocle.errors import StateError


@dataclass(frozen=True)
class Parts:
    """The parts of a learner, every option written out."""

    backbone: str
    fingerprint: str
    """A hash of the backbone; equal fingerprints mean equal feature maps."""
    preprocessing: str
    """How a picture becomes pixels."""
    pooling: str
    classifier: str
    views: str = "plain"
    """The views of a taught picture. The first states did not record them."""

    def require_same(self, name: str, backbone: str, fingerprint: str, preprocessing: str) -> None:
        """Raise StateError if feature maps of these parts differ from those computed here.

        Args:
            name: What was learned with these parts, for the message.
            backbone: The name of the backbone here.
            fingerprint: Its fingerprint.
            preprocessing: The preprocessing here.
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
