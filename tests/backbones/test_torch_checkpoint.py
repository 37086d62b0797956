"""The published checkpoints are read as PyTorch reads them, and code in one is never run."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusal import Refusal
from robocle.backbones.efficientnet_lite import PUBLISHED, checkpoint_path
from robocle.backbones.efficientnet_lite_graph import read_checkpoint
from robocle.errors import BackboneError


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_checkpoint_is_read_as_pytorch_reads_it(name: str) -> None:
    torch = pytest.importorskip("torch")
    path = checkpoint_path(PUBLISHED[name])
    expected = torch.load(path, map_location="cpu", weights_only=True)
    found = read_checkpoint(path.read_bytes())
    assert found.keys() == expected.keys()
    for key, tensor in expected.items():
        assert found[key].dtype == tensor.numpy().dtype
        assert np.array_equal(found[key], tensor.numpy()), key


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("function", ["system", "eval", "open"])
def test_code_in_a_checkpoint_is_rejected_and_not_run(
    function: str, place: int, tmp_path: Path, refusal: Refusal
) -> None:
    trace = tmp_path / "trace"
    calls = {
        "system": Runs(os.system, f"touch {trace}"),
        "eval": Runs(eval, f"open({str(trace)!r}, 'w')"),
        "open": Runs(open, str(trace), "w"),
    }
    pickles = [pickle.dumps({}, 2)] * 5
    pickles[place] = pickle.dumps({"w": [{"deep": calls[function]}]}, 2)
    message = refusal(BackboneError, lambda: read_checkpoint(b"".join(pickles)))
    assert f".{function}: only tensors are read" in message
    assert not trace.exists()


@pytest.mark.parametrize(
    "name", ["torch\nload", "builtins\ngetattr", "torch._utils\n_rebuild_tensor_v2.__globals__"]
)
def test_any_other_name_is_rejected(name: str, refusal: Refusal) -> None:
    content = b"\x80\x02c" + name.encode() + b"\n."
    assert "only tensors are read" in refusal(BackboneError, lambda: read_checkpoint(content))
