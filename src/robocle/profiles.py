"""Profiles: named sets of parts, each a whole learner.

"fast" and "accurate" have the same backbone and differ only in the views at prediction. What one of
them was taught, the other can use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from robocle.errors import SpecError
from robocle.spec import parse_spec, require_choice, suggestion

ProfileName = Literal["light", "fast", "accurate", "large"]
Objects = Literal["auto", "same", "kinds"]
"""What a learner will recognise: the same objects that it was taught, or others of their kinds."""
OBJECTS: tuple[Objects, ...] = get_args(Objects)
# The weight of the earlier map, which tells one mug from another. "auto" estimates it.
EARLIER_WEIGHTS: Mapping[Objects, float] = {"same": 2.0, "kinds": 0.125}


@dataclass(frozen=True)
class Profile:
    """The specs of all parts of a learner."""

    purpose: str
    """What it is for, in a few words."""
    backbone: str = "efficientnet_lite0"
    pooling: str = "focus:r=3,window=0.3,earlier=2"
    classifier: str = (
        "slda:scatter=exact,shrinkage=stepped,covariance=blocks,score=cosine,earlier=auto,world=40"
    )
    views: str = "centre"
    prediction_views: str = "centre:shares=0.8"


PROFILES: Mapping[ProfileName, Profile] = {
    "light": Profile(
        "as fast, in 8-bit integers: a third less time if the processor has instructions for them",
        backbone="efficientnet_lite0:numbers=int8",
    ),
    "fast": Profile("one look at each picture, for a camera on a small device"),
    "accurate": Profile(
        "two looks at each picture, the second nearer, which takes twice as long",
        prediction_views="centre:shares=1/0.6",
    ),
    "large": Profile(
        "a larger backbone in 8-bit integers, from the extra robocle[lite], and three looks",
        backbone="efficientnet_lite2:size=288,numbers=int8",
        prediction_views="centre:shares=1/0.75/0.5",
    ),
}
DEFAULT_PROFILE: ProfileName = "fast"
DEFAULT = PROFILES[DEFAULT_PROFILE]


def profile(name: ProfileName) -> Profile:
    """Return the profile of a name.

    Raises:
        SpecError: There is no such profile.

    Example:
        >>> profile("accurate").prediction_views
        'centre:shares=1/0.6'
    """
    if name not in PROFILES:
        raise SpecError(f"unknown profile {name!r}: {suggestion(str(name), PROFILES)}")
    return PROFILES[name]


def classifier_for(objects: Objects, classifier: str) -> str:
    """Return the spec of a classifier for what a learner will recognise.

    Args:
        objects: What it will recognise.
        classifier: The spec of a classifier. If `objects` is not "auto", it must be one that has
            the option `earlier`.

    Raises:
        SpecError: `objects` is none of the choices, or the spec cannot be parsed.

    Example:
        >>> classifier_for("same", "slda:score=cosine,earlier=auto")
        'slda:score=cosine,earlier=2.0'
    """
    require_choice("objects", objects, OBJECTS)
    if objects == "auto":
        return classifier
    spec = parse_spec(classifier)
    options = {**spec.options, "earlier": EARLIER_WEIGHTS[objects]}
    return str(replace(spec, options=options))
