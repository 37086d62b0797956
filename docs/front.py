"""Draws accuracy against milliseconds: python docs/front.py writes docs/front.svg.

The points come from docs/results/front.json, which tools/measure_front.py writes.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
POINTS = HERE / "results/front.json"
PLOT = HERE / "front.svg"
CHOSEN = {
    ("efficientnet_lite0", "0.8"): "fast",
    ("efficientnet_lite0", "1/0.6"): "accurate",
    ("efficientnet_lite2:size=256", "1/0.6"): "large",
}
"""The points that are profiles."""
OFFSETS = {
    ("efficientnet_lite2:size=256", "0.8"): (-66, 5),
    ("efficientnet_lite0", "1/0.6"): (-20, -15),
}
"""Where names are put that would cover others, in points from their place."""
SERIES = {
    ("efficientnet_lite0", "1"): ("Lite0, the whole picture", "#7a9cc6", "o"),
    ("efficientnet_lite0", "1/0.67"): ("Lite0, the whole picture and 0.67", "#24558f", "s"),
    ("efficientnet_lite2", "1"): ("Lite2, the whole picture", "#d9a066", "o"),
    ("efficientnet_lite2", "1/0.67"): ("Lite2, the whole picture and 0.67", "#9c5a14", "s"),
}
"""Points of one network at growing sizes, with the same looks: a legend, a colour and a marker."""


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
            axes.annotate(size, place, (4, -11), textcoords="offset points", fontsize=8)
    rest = [each for each in points if each["taught"] != "1/0.67"]
    axes.scatter([each["milliseconds"] for each in rest], [mean(each) for each in rest],
                 color="#2f7d4f", marker="D", zorder=3, label="looks chosen anew")  # fmt: skip
    for each in rest:
        key = each["backbone"], each["looks"]
        named = CHOSEN.get(key)
        network, _, size = each["backbone"].removeprefix("efficientnet_l").partition(":size=")
        text = named or f"L{network} {size}, {each['looks'].replace('/', ' and ')}"
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
