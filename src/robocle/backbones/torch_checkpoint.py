"""Reading a PyTorch checkpoint of the old, non-zip format without PyTorch.

A checkpoint is a pickle, and a pickle can run code. This reader can only build dictionaries of
tensors: any other name in the file is refused before it is looked up.

The format is five pickles (magic number, protocol, machine, object tree, storage keys), then for
each key an int64 element count followed by the raw elements.
"""

import math
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robocle.errors import BackboneError

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
STORAGE_DTYPES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]
    length: int


@dataclass(frozen=True)
class _Tensor:
    """A tensor whose elements have not been read yet."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def fill(self, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
        elements = storages[self.storage.key]
        steps = zip(self.shape, self.strides, strict=True)
        last = self.offset + sum((size - 1) * stride for size, stride in steps)
        lowest = min(self.offset, *self.strides, *(size - 1 for size in self.shape), 0)
        if lowest < 0 or last >= len(elements) or math.prod(self.shape) > len(elements):
            raise BackboneError(f"checkpoint tensor of shape {self.shape} reaches past its storage")
        strides = [stride * elements.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(elements[self.offset :], self.shape, strides)
        return np.array(view, order="C")  # np.ascontiguousarray would give a scalar an axis


def _rebuild_tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _TensorUnpickler(pickle.Unpickler):
    """An unpickler that knows tensors and ordered dictionaries, and refuses all else."""

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        } | {("torch", storage): storage for storage in STORAGE_DTYPES}
        if (module, name) not in known:
            raise BackboneError(f"checkpoint asks for {module}.{name}: only tensors are read")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, storage, key, _device, length, *_view = pid
        if kind != "storage":
            raise BackboneError(f"checkpoint holds a {kind!r}: only tensors are read")
        return _Storage(str(key), STORAGE_DTYPES[storage], int(length))


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a checkpoint by name, read without running any code in it."""
    try:
        with path.open("rb") as file:
            tree = _read_tree(file)
            storages = _read_storages(file, {t.storage.key: t.storage for t in tree.values()})
            return {name: tensor.fill(storages) for name, tensor in tree.items()}
    except BackboneError:
        raise
    except OSError as error:
        raise BackboneError(f"cannot read checkpoint {path}: {error.strerror}") from error
    except Exception as error:  # a hostile pickle can fail in any way
        raise BackboneError(f"{path} is not a readable PyTorch checkpoint ({error})") from error


def _read_tree(file: BinaryIO) -> dict[str, _Tensor]:
    magic, protocol, _machine = (_TensorUnpickler(file).load() for _ in range(3))
    if magic != MAGIC or protocol != PROTOCOL:
        raise BackboneError(f"not a PyTorch checkpoint of the old format (magic {magic!r})")
    tree = _TensorUnpickler(file).load()
    if not isinstance(tree, dict) or not all(isinstance(t, _Tensor) for t in tree.values()):
        raise BackboneError("checkpoint is not a flat dictionary of tensors")
    return {str(name): tensor for name, tensor in tree.items()}


def _read_storages(file: BinaryIO, expected: dict[str, _Storage]) -> dict[str, NDArray[Any]]:
    storages = {}
    for key in _TensorUnpickler(file).load():
        storage = expected[key]
        (length,) = struct.unpack("<q", file.read(8))
        if length != storage.length:
            raise BackboneError(f"checkpoint storage {key} has {length} of {storage.length} values")
        content = file.read(length * storage.dtype.itemsize)
        storages[key] = np.frombuffer(content, storage.dtype, length)
    return storages
