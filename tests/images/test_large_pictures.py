"""Photographs of 108 megapixels are read, in memory that depends on the format and is limited."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from peak_memory import output_of
from picture_files import ORIENTATIONS, black_png, encoded, encoded_with_orientation, png, png_chunk
from refusal import Refusal
from robocle.errors import ImageError
from robocle.images.opening import MAX_JPEG_PIXELS, MAX_PIXELS, SMALLER_LIMITS
from robocle.images.reading import read, to_pixels
from robocle.images.square import STRIP_PIXELS

pytestmark = pytest.mark.slow

SIZE = 12_000, 9_000
PIXELS = SIZE[0] * SIZE[1]
PROGRAM = """if True:
    import sys
    from PIL import Image
    from peak_memory import peak_megabytes
    from robocle.images import read
    Image.init()
    box = [float(number) for number in sys.argv[2:]] or None
    before = peak_megabytes()
    image = read(sys.argv[1], 224, box)
    print(peak_megabytes() - before)
    print(*image.size)
"""


def megabytes_to_read(path: Path, *box: int) -> tuple[float, tuple[int, ...]]:
    """Read a picture in a new process; return the memory that it took, and the original size."""
    megabytes, size = output_of(PROGRAM, path, *box).splitlines()
    return float(megabytes), tuple(map(int, size.split()))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grey JPEG of 108 megapixels with a white rectangle."""
    path = tmp_path_factory.mktemp("large") / "large.jpg"
    image = Image.new("L", SIZE, 90)
    image.paste(255, (6_000, 3_000, 9_000, 6_000))
    image.save(path)
    return path


def test_a_jpeg_of_108_megapixels_takes_a_few_megabytes(large: Path, tmp_path: Path) -> None:
    megabytes, size = megabytes_to_read(large)
    assert size == SIZE
    assert megabytes < 30
    Image.new("RGB", SIZE, (200, 90, 30)).save(tmp_path / "colour.jpg")
    megabytes, _ = megabytes_to_read(tmp_path / "colour.jpg")
    assert megabytes < 40
    assert np.abs(to_pixels(tmp_path / "colour.jpg", 32).mean((0, 1)) - (200, 90, 30)).max() < 3
    assert np.array_equal(to_pixels(large.read_bytes(), 32), to_pixels(large, 32))


def test_a_box_of_a_large_jpeg_is_in_pixels_of_the_original(large: Path) -> None:
    assert (to_pixels(large, 32, (6_000, 3_000, 3_000, 3_000)) > 250).all()
    assert (to_pixels(large, 32, (100, 100, 5_000, 2_000)) < 95).all()
    half = to_pixels(large, 32, (4_500, 3_000, 3_000, 3_000))
    assert (half[:, :14] < 100).all()
    assert (half[:, 18:] > 240).all()
    assert read(large, 32, (6_000, 3_000, 200, 100)).size == (200, 100)


def test_a_small_box_of_a_large_jpeg_is_decoded_at_full_scale(tmp_path: Path) -> None:
    stripes = np.zeros((2_400, 3_200), np.uint8)
    stripes[:, ::2] = 255
    Image.fromarray(stripes).save(tmp_path / "stripes.jpg", quality=95)
    fine = to_pixels(tmp_path / "stripes.jpg", 224, (1_600, 1_200, 224, 224))[..., 0]
    assert fine[:, ::2].mean() > 230
    assert fine[:, 1::2].mean() < 25


def test_a_small_box_of_a_large_jpeg_takes_one_byte_per_grey_pixel(large: Path) -> None:
    megabytes, size = megabytes_to_read(large, 6_000, 3_000, 224, 224)
    assert size == (224, 224)
    assert megabytes < PIXELS / 1e6 + 30


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_box_of_a_rotated_jpeg_at_reduced_scale_is_in_pixels_of_the_upright_picture(
    orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    upright = np.asarray(Image.fromarray(photo).resize((2_560, 1_920)))
    path = tmp_path / "rotated.jpg"
    path.write_bytes(encoded_with_orientation(upright, orientation, format="JPEG", quality=95))
    box = (880, 480, 800, 960)
    expected = to_pixels(upright, 64, box).astype(int)
    assert np.abs(to_pixels(path, 64, box) - expected).mean() < 4
    assert np.abs(to_pixels(path, 64) - expected).mean() > 20


# ---- other formats: 4 bytes per pixel, and no second copy


LARGE_PNGS: dict[str, tuple[Callable[[], bytes], int]] = {
    "colour": (lambda: png(*SIZE, 8, 2, bytes((3 * SIZE[0] + 1) * SIZE[1])), 4),
    # Converted as a whole, it would take 16 times its memory.
    "transparent palette": (
        lambda: png(*SIZE, 1, 3, bytes((SIZE[0] // 8 + 1) * SIZE[1]),
                    png_chunk(b"PLTE", bytes(6)), png_chunk(b"tRNS", bytes(1))), 1),
    "black and white": (lambda: black_png(*SIZE), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE_PNGS)
def test_a_png_of_108_megapixels_is_decoded_once_and_not_copied(name: str, tmp_path: Path) -> None:
    content, bytes_per_pixel = LARGE_PNGS[name]
    path = tmp_path / "large.png"
    path.write_bytes(content())
    assert path.stat().st_size < 2_000_000
    megabytes, size = megabytes_to_read(path)
    assert size == SIZE
    assert megabytes < bytes_per_pixel * PIXELS / 1e6 + 50


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "I;16"])
@pytest.mark.parametrize("box", [None, (7, 5, 1_500, 900)], ids=["whole", "box"])
def test_pixels_converted_by_strips_equal_those_of_the_picture_converted_as_a_whole(
    mode: str, box: tuple[int, int, int, int] | None
) -> None:
    size = 1_603, 1_301  # no multiples of the factors
    assert size[0] * size[1] > 2 * STRIP_PIXELS
    image = in_mode(mode, size)
    left, top, width, height = box or (0, 0, *size)
    used = image.crop((left, top, left + width, top + height))
    whole = Image.new("RGB", used.size, "white")
    if mode == "I;16":
        whole = Image.fromarray((np.asarray(used) >> 8).astype(np.uint8)).convert("RGB")
    elif mode == "I":
        whole = Image.fromarray((np.asarray(used) // 256).astype(np.uint8)).convert("RGB")
    else:
        rgba = used.convert("RGBA")
        whole = Image.alpha_composite(whole.convert("RGBA"), rgba).convert("RGB")
    expected = whole.resize((64, 64), Image.Resampling.BILINEAR, reducing_gap=1.0)
    assert np.array_equal(to_pixels(image, 64, box), np.asarray(expected))


def in_mode(mode: str, size: tuple[int, int]) -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 4), np.uint8)
    image = Image.fromarray(noise).resize(size)
    if mode in ("I", "I;16"):
        levels = np.asarray(image.convert("L")).astype(np.uint16) * 257
        return Image.fromarray(levels if mode == "I;16" else levels.astype(np.int32))
    return image.convert(mode) if mode in ("LA", "RGBA") else image.convert("RGB").convert(mode)


# ---- limits


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose header states another size than its content has."""
    content = bytearray(encoded(Image.new("L", (64, 64)), format="JPEG"))
    start = content.index(b"\xff\xc0") + 5
    content[start : start + 4] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return bytes(content)


def webp_of(width: int, height: int) -> bytes:
    content = bytearray(encoded(Image.new("RGB", (64, 64)), format="WEBP", lossless=True))
    start = content.index(b"VP8L") + 9
    bits = int.from_bytes(content[start : start + 4], "little") & ~0xFFFFFFF
    bits |= (width - 1) | (height - 1) << 14
    content[start : start + 4] = bits.to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "limit"),
    [
        (jpeg_of(15_000, 14_500), MAX_JPEG_PIXELS),
        (black_png(12_000, 10_100), MAX_PIXELS),
        (webp_of(8_000, 7_600), SMALLER_LIMITS["WEBP"]),
    ],
    ids=["JPEG", "PNG", "WebP"],
)
def test_a_picture_over_the_limit_of_its_format_is_refused(
    content: bytes, limit: int, refusal: Refusal
) -> None:
    message = refusal(ImageError, lambda: to_pixels(content, 224))
    assert f"over {limit // 1_000_000} million pixels: make it smaller first" in message
    # Pillow itself refuses this one.
    message = refusal(ImageError, lambda: to_pixels(webp_of(16_000, 16_000), 224))
    assert "pixels: make it smaller first" in message


def test_the_documented_limits_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text("utf-8")
    documented = {"JPEG": MAX_JPEG_PIXELS, "PNG, BMP, GIF, PPM": MAX_PIXELS, "TIFF": MAX_PIXELS}
    names = {"WEBP": "WebP", "JPEG2000": "JPEG 2000", "HEIF": "HEIC, HEIF"}
    documented |= {names.get(kind, kind): limit for kind, limit in SMALLER_LIMITS.items()}
    for name, limit in documented.items():
        assert f"| {name} | {limit // 1_000_000} million |" in page


def test_the_limit_of_pillow_neither_stops_nor_changes(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000_000)
    assert read(large, 32).size == SIZE
    assert Image.MAX_IMAGE_PIXELS == 10_000_000


def test_the_frames_of_a_tiff_are_not_counted(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [Image.new("L", (16, 16))] * 400
    path = tmp_path / "pages.tif"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    found: list[int] = []
    search = TiffImageFile._seek

    def counted(self: TiffImageFile, frame: int) -> None:
        found.append(frame)
        search(self, frame)

    monkeypatch.setattr(TiffImageFile, "_seek", counted)
    assert "several frames" in refusal(ImageError, lambda: to_pixels(path, 32))
    assert len(found) <= 2


def test_pipes_and_devices_are_refused_instead_of_waited_for_but_links_are_followed(
    photo_jpeg: Path, tmp_path: Path, refusal: Refusal
) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "zero.jpg").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe.jpg", tmp_path / "zero.jpg"):
        message = refusal(ImageError, partial(to_pixels, path, 32))
        assert message == f"{path} is a pipe or a device, not a file: give a picture file"
    (tmp_path / "link.jpg").symlink_to(photo_jpeg)
    assert np.array_equal(to_pixels(tmp_path / "link.jpg", 32), to_pixels(photo_jpeg, 32))
