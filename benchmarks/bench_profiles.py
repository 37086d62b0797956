"""What a frame costs in each profile: `python benchmarks/bench_profiles.py`.

A camera frame is recognised by learners that were taught the same 20 labels. The default learner of
version 0.1.0, which pools the last map of the whole picture only, is the reference. One thread.
"""

import argparse
from functools import partial

from bench_embedding import camera_frame
from measuring import alternating, finish, report

from robocle import Learner, backbone
from robocle.backbones import Backbone
from robocle.profiles import PROFILES

OBJECTS, SHOTS = 20, 2
BEFORE = "default of 0.1.0"
CAMERA = 15  # frames per second
MOST_FOR_FAST, MOST_FOR_ACCURATE = 1.15, 2.1


def taught(learner: Learner) -> Learner:
    for shown in range(OBJECTS * SHOTS):
        learner.teach(camera_frame(shown), f"object {shown // SHOTS}", poor="accept")
    return learner


def learners(*, with_large: bool) -> dict[str, Learner]:
    networks: dict[str, Backbone] = {}
    found: dict[str, Learner] = {}
    for name, profile in PROFILES.items():
        if name != "large" or with_large:
            networks.setdefault(profile.backbone, backbone(profile.backbone))
            found[name] = taught(Learner(networks[profile.backbone], profile=name))
    pooling = "moments:r=3,form=root"
    before = Learner(found["fast"].backbone, pooling=pooling, prediction_views="plain")
    return {BEFORE: taught(before), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few frames, and limits do not count")
    quick = parser.parse_args().quick
    each = learners(with_large=not quick)
    frame = camera_frame(1)
    assert {learner.predict(frame).nearest for learner in each.values()} == {"object 0"}
    works = [partial(learner.predict, frame) for learner in each.values()]
    best = alternating(works, 3 if quick else 200)
    times = dict(zip(each, best, strict=True))
    for name, seconds in times.items():
        detail = f"{seconds * 1e3:.1f} ms per frame"
        report(
            f"{name}: frames per second", 1 / seconds, CAMERA, at_least=True, unit="", detail=detail
        )
    for name, most in (("fast", MOST_FOR_FAST), ("accurate", MOST_FOR_ACCURATE)):
        report(f"{name} / {BEFORE}", times[name] / times[BEFORE], most, at_least=False)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
