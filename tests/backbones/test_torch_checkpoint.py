"""Checkpoints are read as PyTorch reads them, and code in them is never run."""

import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusal import Refusal
from robocle.backbones.efficientnet_lite import checkpoint_path
from robocle.backbones.efficientnet_lite_graph import MAGIC, PROTOCOL, read_checkpoint
from robocle.errors import BackboneError

# ---- against PyTorch


def test_the_real_checkpoint_is_read_as_pytorch_reads_it() -> None:
    torch = pytest.importorskip("torch")
    expected = torch.load(checkpoint_path(), map_location="cpu", weights_only=True)
    found = read_checkpoint(checkpoint_path())
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.numpy().dtype
        assert np.array_equal(found[name], tensor.numpy()), name


def test_views_shared_storages_and_all_dtypes_are_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    table = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    tensors = {
        "table": table,
        "turned": table.T,
        "window": table[1:3, 2:5],
        "steps": table[::2, ::3],
        "repeated": table[0].expand(3, 6),
        "scalar": torch.tensor(7),
        "double": torch.rand(3, dtype=torch.float64),
        "half": torch.rand(3).half(),
        "int": torch.arange(5, dtype=torch.int32),
    }
    path = tmp_path / "tensors.pth"
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    found = read_checkpoint(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.numpy().dtype
        assert np.array_equal(found[name], tensor.numpy()), name


def test_the_zip_format_is_rejected(tmp_path: Path, refusal: Refusal) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "new.pth"
    torch.save({"a": torch.zeros(3)}, path)
    assert str(path) in refusal(BackboneError, lambda: read_checkpoint(path))


def test_a_dtype_that_numpy_lacks_is_rejected(tmp_path: Path, refusal: Refusal) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "brain.pth"
    tensors = {"a": torch.zeros(3, dtype=torch.bfloat16)}
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    assert "BFloat16Storage" in refusal(BackboneError, lambda: read_checkpoint(path))


# ---- files written byte by byte


def embedded(value: object) -> bytes:
    """Return the pickle of a value, to be embedded in a larger pickle."""
    return pickle.dumps(value, 2)[2:-1]


def tensor_pickle(
    shape: object = (4,),
    strides: object = (1,),
    offset: object = 0,
    length: object = 4,
    kind: str = "storage",
    storage: str = "FloatStorage",
    key: object = "0",
) -> bytes:
    """Return the object tree {"w": tensor}, as torch.save writes it."""
    persistent = embedded(kind) + f"ctorch\n{storage}\n".encode()
    persistent += embedded(key) + embedded("cpu") + embedded(length) + embedded(None)
    arguments = b"(" + persistent + b"tQ" + embedded(offset) + embedded(shape) + embedded(strides)
    arguments += b"\x89ccollections\nOrderedDict\n)R"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"
    return b"\x80\x02}" + embedded("w") + tensor + b"s."


def checkpoint(
    tree: bytes, keys: object = ("0",), count: int = 4, elements: bytes = bytes(16)
) -> bytes:
    head = pickle.dumps(MAGIC, 2) + pickle.dumps(PROTOCOL, 2) + pickle.dumps({}, 2)
    return head + tree + pickle.dumps(keys, 2) + struct.pack("<q", count) + elements


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    elements = np.array([1, 2, 3, 4], "<f4")
    path = tmp_path / "hand.pth"
    tree = tensor_pickle(shape=(2, 2), strides=(1, 2))
    path.write_bytes(checkpoint(tree, elements=elements.tobytes()))
    assert read_checkpoint(path)["w"].tolist() == [[1, 3], [2, 4]]


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize("place", ["magic", "tree", "inside the tree", "keys"])
@pytest.mark.parametrize("function", ["system", "eval", "exec", "open"])
def test_code_in_a_checkpoint_is_rejected_and_not_run(
    function: str, place: str, tmp_path: Path, refusal: Refusal
) -> None:
    trace = tmp_path / "trace"
    calls = {
        "system": Runs(os.system, f"touch {trace}"),
        "eval": Runs(eval, f"open({str(trace)!r}, 'w')"),
        "exec": Runs(exec, f"open({str(trace)!r}, 'w')"),
        "open": Runs(open, str(trace), "w"),
    }
    hostile = pickle.dumps(calls[function], 2)
    content = {
        "magic": hostile + checkpoint(tensor_pickle()),
        "tree": checkpoint(hostile),
        "inside the tree": checkpoint(pickle.dumps({"w": [{"deep": calls[function]}]}, 2)),
        "keys": checkpoint(tensor_pickle() + hostile),
    }
    path = tmp_path / "hostile.pth"
    path.write_bytes(content[place])
    message = refusal(BackboneError, lambda: read_checkpoint(path))
    assert f".{function}: only tensors are read" in message
    assert not trace.exists()


@pytest.mark.parametrize(
    "name",
    [
        "ctorch\nload\n",
        "ctorch.serialization\nload\n",
        "cbuiltins\ngetattr\n",
        "ccollections\nOrderedDict.__init__\n",
        "ctorch._utils\n_rebuild_tensor_v2.__globals__\n",
        "crobocle.backbones.torch_checkpoint\nread_checkpoint\n",
    ],
)
def test_any_other_name_is_rejected(name: str, tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "named.pth"
    path.write_bytes(checkpoint(b"\x80\x02" + name.encode() + b"."))
    assert "only tensors are read" in refusal(BackboneError, lambda: read_checkpoint(path))


HOSTILE: dict[str, bytes] = {
    "longer than its storage": checkpoint(tensor_pickle(shape=(5,))),
    "huge": checkpoint(tensor_pickle(shape=(1 << 40,))),
    "larger by repetition": checkpoint(tensor_pickle(shape=(1000,), strides=(0,))),
    "huge by repetition": checkpoint(tensor_pickle(shape=(1 << 40,), strides=(0,))),
    "huge in two axes": checkpoint(tensor_pickle(shape=(1 << 32, 1 << 32), strides=(0, 0))),
    "past the end by its stride": checkpoint(tensor_pickle(shape=(2,), strides=(4,))),
    "past the end by a huge stride": checkpoint(tensor_pickle(shape=(2,), strides=(1 << 62,))),
    "past the end by its offset": checkpoint(tensor_pickle(shape=(2,), offset=3)),
    "a huge offset": checkpoint(tensor_pickle(shape=(1,), offset=1 << 63)),
    "a negative offset": checkpoint(tensor_pickle(shape=(1,), offset=-1)),
    "a negative stride": checkpoint(tensor_pickle(shape=(2,), strides=(-1,), offset=2)),
    "a negative size": checkpoint(tensor_pickle(shape=(-1,))),
    "two negative sizes": checkpoint(tensor_pickle(shape=(-2, -2), strides=(1, 1))),
    "fewer strides than sizes": checkpoint(tensor_pickle(shape=(2, 2), strides=(1,))),
    "sizes that are text": checkpoint(tensor_pickle(shape=("4",))),
    "sizes that are fractions": checkpoint(tensor_pickle(shape=(1.5,))),
    "sizes that are not a tuple": checkpoint(tensor_pickle(shape=4)),
    "an offset that is text": checkpoint(tensor_pickle(offset="0")),
    "a storage shorter than promised": checkpoint(tensor_pickle(length=8), count=4),
    "a truncated storage": checkpoint(tensor_pickle(), elements=bytes(15)),
    "a storage of huge length": checkpoint(tensor_pickle(length=1 << 60), count=1 << 60),
    "a storage of negative length": checkpoint(tensor_pickle(length=-1), count=-1),
    "a storage that does not exist": checkpoint(tensor_pickle(key="1")),
    "a storage without a list": checkpoint(tensor_pickle(), keys=None),
    "an empty list of storages": checkpoint(tensor_pickle(), keys=()),
    "a key that is a list": checkpoint(tensor_pickle(), keys=[["0"]]),
    "another persistent object": checkpoint(tensor_pickle(kind="module")),
    "a length that is text": checkpoint(tensor_pickle(length="four")),
    "a tree that is a list": checkpoint(pickle.dumps([1, 2], 2)),
    "a tree of numbers": checkpoint(pickle.dumps({"w": 1}, 2)),
    "a nested tree": checkpoint(b"\x80\x02}" + embedded("a") + tensor_pickle()[2:-1] + b"s."),
    "not a pickle": checkpoint(b"garbage"),
    "another magic number": checkpoint(tensor_pickle()).replace(
        pickle.dumps(MAGIC, 2), pickle.dumps(MAGIC + 1, 2)
    ),
    "a pickle of another kind": pickle.dumps({"w": [1.0]}, 2),
    "empty": b"",
    "text": b"this is not a checkpoint\n" * 20,
    "zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_damaged_checkpoint_is_rejected(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "hostile.pth"
    path.write_bytes(HOSTILE[name])
    assert "checkpoint" in refusal(BackboneError, lambda: read_checkpoint(path))


def test_a_checkpoint_truncated_anywhere_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "cut.pth"
    whole = checkpoint(tensor_pickle())
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(BackboneError):
            read_checkpoint(path)


def test_a_missing_checkpoint_and_a_folder_are_rejected(tmp_path: Path, refusal: Refusal) -> None:
    missing = tmp_path / "missing.pth"
    message = refusal(BackboneError, lambda: read_checkpoint(missing))
    assert message == f"cannot read checkpoint {missing}: No such file or directory"
    assert "Is a directory" in refusal(BackboneError, lambda: read_checkpoint(tmp_path))
