"""Files that are no readable pictures are refused in one line that says what they are."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageFile

from picture_files import encoded
from refusal import Refusal
from robocle.errors import ImageError
from robocle.images import SUFFIXES, to_pixels

Image.init()
HAS_AVIF = "AVIF" in Image.SAVE
PICTURE = Image.new("RGB", (64, 48), (200, 90, 30))


def container(brand: bytes, *compatible: bytes) -> bytes:
    """The start of a file of the family of MP4."""
    brands = brand + bytes(4) + b"".join(compatible)
    return (8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands + bytes(200)


def dng() -> bytes:
    return encoded(PICTURE, format="TIFF", tiffinfo={0xC612: b"\1\4\0\0"})


def preview_of_raw() -> bytes:
    return encoded(PICTURE, format="TIFF", tiffinfo={0x00FE: 1})


RAW = "is a camera RAW file: export it as JPEG"
VIDEO = "is a video: save some of its frames as JPEG files"
FILES = {
    "heic.heic": (container(b"heic", b"mif1"), "is a HEIC picture: pip install pillow-heif"),
    "heif.HEIF": (container(b"mif1", b"heic"), "is a HEIC picture: pip install pillow-heif"),
    "canon.cr2": (b"II*\0\x10\0\0\0CR\2\0" + bytes(100), RAW),
    "canon.cr3": (container(b"crx ", b"isom"), RAW),
    "fuji.raf": (b"FUJIFILMCCD-RAW 0201" + bytes(100), RAW),
    "adobe.dng": (dng(), RAW),
    "nikon.nef": (preview_of_raw(), RAW),
    "drawing.svg": (b'<?xml version="1.0"?>\n<svg width="9" height="9"/>', "is an SVG drawing"),
    "page.pdf": (b"%PDF-1.7\n", "is a PDF document"),
    "photoshop.psd": (b"8BPS\0\1" + bytes(100), "is a Photoshop document"),
    "next.jxl": (b"\xff\x0a" + bytes(100), "is a JPEG XL picture"),
    "clip.mp4": (container(b"isom", b"mp41"), VIDEO),
    "clip.mov": (container(b"qt  "), VIDEO),
    "clip.webm": (b"\x1aE\xdf\xa3" + bytes(100), VIDEO),
    "clip.avi": (b"RIFF\0\0\0\0AVI LIST" + bytes(100), VIDEO),
    "archive.zip": (b"PK\3\4" + bytes(100), "is a ZIP archive"),
    "download.jpg": (b"\n<!DOCTYPE html><html>", "is a web page, not a picture"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_kind_is_named_with_what_to_do(
    name: str, tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    content, expected = FILES[name]
    (tmp_path / name).write_bytes(content)
    message = refusal(ImageError, lambda: to_pixels(tmp_path / name, 32))
    assert message.startswith(f"{tmp_path / name} {expected}")
    assert ": " in message.removeprefix(str(tmp_path))
    in_memory = refusal(ImageError, lambda: to_pixels(content, 32))
    assert in_memory.startswith(f"the picture {expected}")


def test_files_that_pillow_cannot_read_count_as_pictures_of_a_folder() -> None:
    assert {".heic", ".heif", ".avif", ".jxl", ".dng", ".cr3", ".nef"} <= SUFFIXES


# ---- AVIF


def test_an_avif_picture_is_read_where_pillow_can_and_named_elsewhere(
    photo: NDArray[np.uint8], tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "photo.avif"
    if HAS_AVIF:
        Image.fromarray(photo).save(path, quality=90)
        difference = np.abs(to_pixels(path, 64).astype(int) - to_pixels(photo, 64))
        assert difference.mean() < 3
        monkeypatch.delitem(Image.OPEN, "AVIF")
    else:
        path.write_bytes(container(b"avif", b"mif1"))
    message = refusal(ImageError, lambda: to_pixels(path, 64))
    assert message.startswith(f"{path} is an AVIF picture: pip install 'pillow>=11.3'")


# ---- HEIC with the plug-in


class PlainHeif(ImageFile.ImageFile):
    """Reads a file with the brand of HEIC and then the pixels, as the plug-in would."""

    format = "HEIF"

    def _open(self) -> None:
        self._mode, self._size = "RGB", (64, 48)
        self.tile = [ImageFile._Tile("raw", (0, 0, 64, 48), 216, "RGB")]


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module named pillow_heif that registers a decoder."""

    def register_heif_opener() -> None:
        Image.register_open("HEIF", PlainHeif, lambda start: start[8:12] == b"heic")

    module = ModuleType("pillow_heif")
    module.register_heif_opener = register_heif_opener  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pillow_heif", module)
    before = dict(Image.OPEN), list(Image.ID)
    yield
    Image.OPEN.clear()
    Image.OPEN.update(before[0])
    Image.ID[:] = before[1]


@pytest.mark.usefixtures("plug_in")
def test_a_heic_picture_is_read_with_the_plug_in() -> None:
    start = container(b"heic")
    content = start + bytes(216 - len(start)) + PICTURE.tobytes()
    assert np.array_equal(to_pixels(content, 32), to_pixels(PICTURE, 32))
