"""The result of evaluating a recording: tables for a terminal, and a plot over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robocle.bags.tally import Part, Tally
from robocle.errors import DataError, MissingExtraError
from robocle.reports import MADE, require_replaceable
from robocle.reports.tables import text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH, RIGHT, WRONG = "#b8c0cc", "#2e9e6b", "#d1495b"
PLOT_FORMATS = (".png", ".svg", ".pdf")


def label_table(tally: Tally) -> str:
    """Return one row per label, those that were taught first."""
    rows = []
    for label, count in sorted(tally.labels.items(), key=lambda item: item[0] not in tally.known):
        mostly = count.taken_for.most_common(1)
        rows.append(
            [_name(label, tally), count.frames, _percent(count.right, count.frames),
             _percent(count.steady, count.frames), _percent(count.unknown, count.frames),
             f"{mostly[0][0]} ({mostly[0][1]})" if mostly else ""]
        )  # fmt: skip
    total = [
        "all", tally.frames, f"{tally.accuracy:.1%}", f"{tally.steady_accuracy:.1%}", None, None
    ]  # fmt: skip
    headers = ["label", "frames", "right", "filtered", "unknown", "mostly taken for"]
    return text_table([*rows, total], headers, align="lrrrrl")


def time_table(tally: Tally) -> str:
    """Return one row per part of the recording that has frames with a label."""
    rows = [
        [f"{part.start:.1f} to {part.end:.1f} s", part.frames, _percent(part.right, part.frames),
         _percent(part.steady, part.frames)]
        for part in tally.parts if part.frames
    ]  # fmt: skip
    return text_table(rows, ["time", "frames", "right", "filtered"])


def _name(label: str, tally: Tally) -> str:
    return label if label in tally.known else f"{label} (not taught)"


def _percent(some: int, of: int) -> str:
    return f"{some / of:.1%}" if of else ""


def require_plot_format(path: Path) -> None:
    """Check that a plot can be written to a file, before a long evaluation.

    Raises:
        DataError: It has another ending.
        RobocleError: There is a file that robocle did not write.
        MissingExtraError: matplotlib is not installed.
    """
    if path.suffix.lower() not in PLOT_FORMATS:
        raise DataError(f"{path} is not a plot: its name must end with {', '.join(PLOT_FORMATS)}")
    require_replaceable(path)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("bag", "the plot needs matplotlib") from error


def plot_recording(tally: Tally, path: Path) -> None:
    """Draw what was announced when, and the accuracy over time.

    Args:
        tally: The counts of a recording.
        path: The file to write, as PNG, SVG or PDF.

    Raises:
        DataError: The file cannot be written.
    """
    from matplotlib.figure import Figure

    rows = [
        *tally.labels,
        *sorted({span.said for span in tally.spans if span.said} - {*tally.labels}),
    ]
    height = 2.6 + 0.32 * (len(rows) + 1)
    figure = Figure(figsize=(10, height), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[height - 2.2, 1.6])
    _draw_spans(upper, tally, rows)
    _draw_parts(lower, [part for part in tally.parts if part.frames])
    try:
        figure.savefig(path, dpi=130, metadata={"Creator": MADE})
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def _draw_spans(axes: "Axes", tally: Tally, rows: Sequence[str]) -> None:
    """Draw what is shown as grey bars, and on them what was announced, right or wrong."""
    places = {label: number for number, label in enumerate(rows)}
    unknown = len(rows)
    for span in tally.spans:
        begin, length = span.start, max(span.end - span.start, 1e-3)
        axes.broken_barh([(begin, length)], (places[span.truth] - 0.4, 0.8), color=TRUTH)
        place = unknown if span.said is None else places[span.said]
        is_right = span.said == (span.truth if span.truth in tally.known else None)
        colour = RIGHT if is_right else WRONG
        axes.broken_barh([(begin, length)], (place - 0.2, 0.4), color=colour)
    names = (_name(label, tally) for label in rows)
    axes.set_yticks(range(len(rows) + 1), [*names, "unknown"])
    axes.set_ylim(len(rows) + 0.6, -0.6)
    axes.spines[["top", "right"]].set_visible(False)
    legend = {"shown": TRUTH, "announced, right": RIGHT, "announced, wrong": WRONG}
    for name, colour in legend.items():
        axes.plot([], [], color=colour, linewidth=6, label=name)
    axes.legend(ncols=3, fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0, 1))


def _draw_parts(axes: "Axes", parts: Sequence[Part]) -> None:
    middles = [(part.start + part.end) / 2 for part in parts]
    for name, values, style in (
        ("each frame alone", [100 * part.right / part.frames for part in parts], "o--"),
        ("filtered", [100 * part.steady / part.frames for part in parts], "o-"),
    ):
        axes.plot(middles, values, style, markersize=3, linewidth=1.4, label=name)
    axes.set_ylim(-4, 104)
    axes.set_ylabel("right, %")
    axes.set_xlabel("seconds since the start of the bag")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="lower right", ncols=2)
