"""Reading a PyTorch checkpoint of the old, non-zip format without PyTorch.

A checkpoint is a pickle, and a pickle can run code. This reader can only build dictionaries of
tensors: any other name in the file is rejected before it is looked up.

The format is five pickles (magic number, protocol, machine, object tree, storage keys), followed by
an int64 element count and the raw elements of each storage.
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
    """A block of numbers that one or more tensors refer to."""

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
            raise BackboneError(
                f"a tensor of shape {self.shape} exceeds its storage: the checkpoint is damaged"
            )
        strides = [stride * elements.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(elements[self.offset :], self.shape, strides)
        return np.array(view, order="C")  # np.ascontiguousarray would add an axis to a scalar


def _rebuild_tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _TensorUnpickler(pickle.Unpickler):
    """An unpickler that builds tensors and ordered dictionaries and rejects everything else."""

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        } | {("torch", storage): storage for storage in STORAGE_DTYPES}
        if (module, name) not in known:
            raise BackboneError(f"the checkpoint refers to {module}.{name}: only tensors are read")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, storage, key, _device, length, *_view = pid
        if kind != "storage":
            raise BackboneError(f"the checkpoint contains a {kind!r}: only tensors are read")
        return _Storage(str(key), STORAGE_DTYPES[storage], int(length))


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a checkpoint, without running any code in it.

    Args:
        path: A file that torch.save wrote in its old format, with one flat dictionary of tensors.

    Returns:
        The tensors by name.

    Raises:
        BackboneError: The file cannot be read, or contains anything but tensors.
    """
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
        raise BackboneError(f"cannot read {path} as a PyTorch checkpoint ({error})") from error


def _read_tree(file: BinaryIO) -> dict[str, _Tensor]:
    magic, protocol, _machine = (_TensorUnpickler(file).load() for _ in range(3))
    if magic != MAGIC or protocol != PROTOCOL:
        raise BackboneError(f"this is not a PyTorch checkpoint of the old format (magic {magic!r})")
    tree = _TensorUnpickler(file).load()
    if not isinstance(tree, dict) or not all(isinstance(t, _Tensor) for t in tree.values()):
        raise BackboneError("the checkpoint is not a flat dictionary of tensors")
    return {str(name): tensor for name, tensor in tree.items()}


def _read_storages(file: BinaryIO, expected: dict[str, _Storage]) -> dict[str, NDArray[Any]]:
    storages = {}
    for key in _TensorUnpickler(file).load():
        storage = expected[key]
        (length,) = struct.unpack("<q", file.read(8))
        if length != storage.length:
            raise BackboneError(
                f"storage {key} of the checkpoint has {length} of {storage.length} values"
            )
        content = file.read(length * storage.dtype.itemsize)
        storages[key] = np.frombuffer(content, storage.dtype, length)
    return storages
