"""Draws accuracy against milliseconds: python docs/front.py writes docs/front.svg.

The points come from docs/results/front.json, which tools/measure_front.py writes.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

from robocle.spec import parse_spec

HERE = Path(__file__).parent
POINTS = HERE / "results/front.json"
PLOT = HERE / "front.svg"
CHOSEN = {
    ("efficientnet_lite0", "0.8"): "fast",
    ("efficientnet_lite0", "1/0.6"): "accurate",
    ("efficientnet_lite0:numbers=int8", "0.8"): "light",
    ("efficientnet_lite2:size=288,numbers=int8", "1/0.75/0.5"): "large",
}
"""The points that are profiles."""
OFFSETS = {
    ("efficientnet_lite2:size=256", "0.8"): (-78, 5),
    ("efficientnet_lite0", "1/0.6"): (-20, -15),
    ("efficientnet_lite0:numbers=int8", "1/0.6"): (-30, 8),
    ("efficientnet_lite2:size=256", "1/0.6"): (-84, 4),
    ("efficientnet_lite2:size=256,numbers=int8", "1/0.75/0.5"): (-120, -11),
    ("efficientnet_lite2:size=320,numbers=int8", "1/0.6"): (-84, 5),
}
"""Where names are put that would cover others, in points from their place."""
SERIES = {
    ("efficientnet_lite0", "1"): ("Lite0, the whole picture", "#7a9cc6", "o"),
    ("efficientnet_lite0", "1/0.67"): ("Lite0, the whole picture and 0.67", "#24558f", "s"),
    ("efficientnet_lite2", "1"): ("Lite2, the whole picture", "#d9a066", "o"),
    ("efficientnet_lite1", "1/0.67"): ("Lite1, the whole picture and 0.67", "#8a8a8a", "s"),
    ("efficientnet_lite2", "1/0.67"): ("Lite2, the whole picture and 0.67", "#9c5a14", "s"),
}
"""Points of one network at growing sizes, with the same looks: a legend, a colour and a marker."""

NUMBERS = {"float32": "#2f7d4f", "int8": "#b0305c"}
"""The colours of points whose looks were chosen anew, by what the network computes with."""


def numbers_of(point: dict[str, Any]) -> str:
    """Return what the network of a point computes with."""
    return str(parse_spec(point["backbone"]).options.get("numbers", "float32"))


def mean(point: dict[str, Any]) -> float:
    """Return the mean accuracy over the columns."""
    return float(sum(point["accuracy"].values()) / len(point["accuracy"]))


def draw(points: list[dict[str, Any]]) -> None:
    """Draw all points, joined where only the size differs."""
    figure, axes = plt.subplots(figsize=(8, 5))
    for (network, looks), (legend, colour, marker) in SERIES.items():
        line = [each for each in points if each["backbone"].startswith(network)
                and each["looks"] == looks and each["taught"] == "1/0.67"]  # fmt: skip
        line.sort(key=lambda each: each["milliseconds"])
        places = [(each["milliseconds"], mean(each)) for each in line]
        axes.plot(*zip(*places, strict=True), color=colour, marker=marker, label=legend)
        for place, each in zip(places, line, strict=True):
            size = each["backbone"].rpartition("=")[2]
            shift = (-16, 6) if network == "efficientnet_lite1" else (4, -11)
            axes.annotate(size, place, shift, textcoords="offset points", fontsize=8)
    rest = [each for each in points if each["taught"] != "1/0.67"]
    for numbers, colour in NUMBERS.items():
        some = [each for each in rest if numbers_of(each) == numbers]
        places = [(each["milliseconds"], mean(each)) for each in some]
        axes.scatter(*zip(*places, strict=True), color=colour, marker="D", zorder=3,
                     label=f"looks chosen anew, {numbers}")  # fmt: skip
    for each in rest:
        key = each["backbone"], each["looks"]
        named = CHOSEN.get(key)
        spec = parse_spec(each["backbone"])
        network = spec.name.removeprefix("efficientnet_").title()
        size = f" {spec.options['size']}" if "size" in spec.options else ""
        text = named or f"{network}{size}, {each['looks'].replace('/', ', ')}"
        axes.annotate(text, (each["milliseconds"], mean(each)), OFFSETS.get(key, (6, 5)),
                      textcoords="offset points", fontsize=9 if named else 8,
                      weight="bold" if named else "normal")  # fmt: skip
    axes.set_xlabel("milliseconds per frame, one core")
    axes.set_ylabel("accuracy, %, mean over six columns")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    matplotlib.rcParams["svg.hashsalt"] = "robocle"
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    draw(json.loads(POINTS.read_text("utf-8")))
