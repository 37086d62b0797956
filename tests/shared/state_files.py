"""State files with another description or other arrays and correct checksums."""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load, save

from robocle.store import METADATA_KEY
from robocle.store.description import checksums, sealed

Arrays = dict[str, NDArray[Any]]
Description = dict[str, Any]


def header_size(content: bytes | bytearray) -> int:
    """Return where the header of a state file ends and its values begin."""
    (length,) = struct.unpack("<Q", content[:8])
    return 8 + int(length)


def description_of(content: bytes) -> Description:
    """Return what the metadata of a state file says about it."""
    header = json.loads(content[8 : header_size(content)])
    description: Description = json.loads(header["__metadata__"][METADATA_KEY])
    return description


def sealed_file(description: Description, arrays: Arrays) -> bytes:
    """Return a state file whose checksums are those of its arrays and its description."""
    described = {key: value for key, value in description.items() if key != "seal"}
    if isinstance(described.get("crc32"), Mapping):
        described["crc32"] = {name: checksums(array) for name, array in arrays.items()}
    return save(arrays, sealed(described))


def damage(path: Path, array: str, row: int = 0, byte: int = 0, bits: int = 1) -> None:
    """Flip bits in one byte of a row of an array of a state file."""
    content = bytearray(path.read_bytes())
    start, end = json.loads(content[8 : header_size(content)])[array]["data_offsets"]
    rows = len(load(bytes(content))[array])
    content[header_size(content) + start + row * (end - start) // rows + byte] ^= bits
    path.write_bytes(content)


def replaced(**changes: object) -> Callable[[Description], Description]:
    """Return a function that replaces or adds entries of a description."""
    return lambda found: found | changes


def rewrite(
    path: Path,
    description: Callable[[Description], object] = lambda found: found,
    arrays: Callable[[Arrays], Arrays] = lambda found: found,
) -> None:
    """Replace a state file by one with another description or other arrays.

    A description that is text is written as it is.
    """
    content = path.read_bytes()
    changed, others = description(description_of(content)), arrays(load(content))
    if isinstance(changed, dict) and "seal" in changed:
        path.write_bytes(sealed_file(changed, others))
    else:
        text = changed if isinstance(changed, str) else json.dumps(changed)
        path.write_bytes(save(others, {METADATA_KEY: text}))
