"""The pieces of a safetensors file, for writing it without a copy of its arrays.

Joined, they are the bytes that `safetensors.numpy.save` returns. That copies all arrays twice,
which for a large state takes longer than to write them.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.errors import StateError

# The types by their names in numpy. Arrays are laid out in this order, so each is aligned.
TYPES = {
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "complex64": "C64",
    "float32": "F32",
    "uint32": "U32",
    "int32": "I32",
    "float16": "F16",
    "uint16": "U16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
LAID_OUT = {name: place for place, name in enumerate(TYPES)}


def safetensors_pieces(
    arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> tuple[bytes, list[memoryview]]:
    """Return the header of a safetensors file, with its length before it, and what follows.

    Args:
        arrays: The arrays by name.
        metadata: Texts by name.

    Returns:
        The header, and the bytes of each array. They share the memory of contiguous arrays.

    Raises:
        StateError: An array has a type that such a file cannot hold.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    contents: list[memoryview] = []
    start = 0
    for name in sorted(arrays, key=lambda name: (_place(name, arrays[name]), name)):
        array = arrays[name]
        end = start + array.nbytes
        header[name] = {
            "dtype": TYPES[array.dtype.name],
            "shape": array.shape,
            "data_offsets": (start, end),
        }
        contents.append(_content(array))
        start = end
    return _with_length(header), contents


def _place(name: str, array: NDArray[Any]) -> int:
    """Return the place of the type of an array among all types."""
    if array.dtype.name not in LAID_OUT:
        raise StateError(f"the array {name} has the type {array.dtype}, which no state can hold")
    return LAID_OUT[array.dtype.name]


def _content(array: NDArray[Any]) -> memoryview:
    little_endian = array.dtype.newbyteorder("<")
    return np.ascontiguousarray(array, little_endian).reshape(-1).view(np.uint8).data


def _with_length(header: Mapping[str, object]) -> bytes:
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    return len(text).to_bytes(8, "little") + text
