"""Drawing what was recognised into a picture."""

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont, ImageOps

from robocle.images.boxes import Box
from robocle.images.reading import Picture, decoded

COLOUR, BEHIND = (255, 255, 255), (0, 96, 64)
LINES = 24
"""How many lines of text a picture has room for."""


def drawn(image: Image.Image, texts: Sequence[tuple[Box | None, str]]) -> Image.Image:
    """Return a picture with boxes and texts in it.

    Args:
        image: The picture, upright.
        texts: Boxes with what each shows; None stands for the whole picture.

    Returns:
        Another picture, RGB.

    Example:
        >>> drawn(Image.new("L", (64, 48)), [((8, 16, 30, 20), "mug")]).size
        (64, 48)
    """
    copy = image.convert("RGB") if image.mode != "RGB" else image.copy()
    draw = ImageDraw.Draw(copy)
    size = max(10, copy.height // LINES)
    font = ImageFont.load_default(size)
    for box, text in texts:
        x, y = (0.0, 0.0) if box is None else box[:2]
        if box is not None:
            draw.rectangle((x, y, x + box[2], y + box[3]), outline=BEHIND, width=max(2, size // 8))
        draw.rectangle(draw.textbbox((x, y), text, font), fill=BEHIND)
        draw.text((x, y), text, COLOUR, font)
    return copy


def upright_image(picture: Picture) -> Image.Image:
    """Return a picture as an image that is upright.

    Raises:
        ImageError: The picture cannot be used.
    """
    image, _ = decoded(picture)
    if not isinstance(image, Image.Image):
        image = Image.fromarray(image)
    return ImageOps.exif_transpose(image)
