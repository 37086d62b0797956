"""Results of a benchmark, written by hand."""

import json
from pathlib import Path
from typing import Any

ORIGIN = {"commit": "abc", "versions": {"numpy": "2"}, "python": "3.11", "machine": "x86_64"}


def record(method: str, accuracy: float, seed: int, **changes: Any) -> dict[str, Any]:
    """Return the result of one trial."""
    result = {
        "accuracy": {"test/clean": accuracy},
        "macro_accuracy": {"test/clean": accuracy - 1},
        "average_other_domain": None,
        "per_step": [100.0, accuracy],
        "plasticity": 90.0,
        "forgetting": 5.0,
        "backward_transfer": -5.0,
        "paper_forg": 4.0,
        "paper_bwt": 80.0,
        "training_minutes": 0.5,
        "frames_per_second": 100.0,
        "relative_speed": 0.9,
        "milliseconds_to_learn": 0.1,
        "milliseconds_to_predict": 0.2,
        "state_megabytes": 2.0,
    }
    trial = {
        "dataset": "openloris",
        "scenario": "low_shot_instance",
        "data": "0a1b",
        "backbone": "resnet152",
        "pooling": "avg",
        "taught": "clean",
        "tested": ["clean"],
        "seed": seed,
    }
    made = {
        "key": f"{method}{seed}{changes}",
        "kind": "trial",
        "experiment": "An experiment",
        "study": "OpenLORIS-small",
        "method": method,
        "over": "",
        "order": 0,
        "shows": ["accuracy", "metrics", "per_step", "cost"],
        "paper": {},
        "trial": trial,
        "result": result,
        "origin": ORIGIN,
    }
    return made | changes


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write a results file and return its path."""
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path
