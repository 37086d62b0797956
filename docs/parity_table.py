"""Writes the table of agreement in docs/paper-and-code.md, from the references that the tests use.

python docs/parity_table.py
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/shared"))

from parity import (  # noqa: E402
    CLASSIFIER_CASES,
    ClassifierCase,
    agreement,
    metric_differences,
    moments_difference,
)

PAGE = ROOT / "docs/paper-and-code.md"
PLACE = re.compile(r"(<!-- begin parity: [^\n]* -->\n).*?(<!-- end parity -->)", re.DOTALL)
HEADER = ("method", "in the code", "reference", "difference", "equal predictions", "deviations")
BOUNDS = (1e-13, 1e-10, 1e-5)
MARGIN = 5  # other processors round differently
MOMENTS = {
    "standardised": "the power is inside the mean; float32 with float64 where that is not enough, "
    "the reference is float64; a constant channel has moments 0, not NaN",
    "root": "not printed: on the scale of the mean; otherwise as above",
}
METRICS = {
    "accuracy": ("Acc", ""),
    "room_aware_gain": ("RARG", ""),
    "avg_other_domain": ("Avg OD", ""),
    "plasticity": ("Pla", ""),
    "paper_bwt": ("BwT", "our reading of the printed numbers, which are not the standard metric"),
    "paper_forg": ("Forg", "as above"),
    "forward_transfer": ("FwT", "over an accuracy of 0 before anything was taught"),
    "mean_step_gain": ("gain per step", "in points: the paper prints no unit"),
    "backward_transfer": ("standard BwT", "not in the paper"),
    "forgetting": ("standard Forg", "not in the paper"),
}
"""What each metric is called in the table, and where it deviates."""


def table() -> str:
    """Return the table as Markdown."""
    lines = [HEADER, ("---",) * len(HEADER), *_classifiers(), *_moments(), *_metrics()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def updated(page: str) -> str:
    """Return the page with the table of today's code."""
    return PLACE.sub(lambda place: place[1] + table() + place[2], page)


def _classifiers() -> Iterator[tuple[str, ...]]:
    for case in CLASSIFIER_CASES:
        found = agreement(case)
        equal = f"{found.equal:,} of {found.compared:,}"
        reference = "the paper" if case.method == "SQDA" else "base code"
        deviations = "; ".join(filter(None, (case.deviations, _default(case)))) or "none"
        yield case.method, f"`{case.spec}`", reference, _bound(found.difference), equal, deviations


def _default(case: ClassifierCase) -> str:
    """Return how the default form of a method differs, if it is another one."""
    if not case.default:
        return ""
    found = agreement(case, spec=case.default)
    return f"the default `{case.default}` is another method: {found.equal:,} equal predictions"


def _moments() -> Iterator[tuple[str, ...]]:
    for form, deviations in MOMENTS.items():
        name = "moments" if form == "standardised" else "moments, root"
        bound = _bound(moments_difference(form))
        yield name, f"`moments:r=3,form={form}`", "eq. 1", bound, "", deviations


def _metrics() -> Iterator[tuple[str, ...]]:
    found = metric_differences()
    for function, (name, deviations) in METRICS.items():
        bound = _bound(found[function] / 100)
        yield name, f"`{function}`", "plain loops", bound, "", deviations or "none"


def _bound(difference: float) -> str:
    """Return the bound that a difference is below, with a margin.

    Raises:
        ValueError: There is none, so this is no agreement.
    """
    for bound in BOUNDS:
        if MARGIN * difference < bound:
            return f"< {bound:.0e}".replace("e-0", "e-")
    raise ValueError(f"a difference of {difference:g} is no agreement")


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
