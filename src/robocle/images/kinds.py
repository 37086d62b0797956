"""Kinds of files that are often given as pictures and are none that robocle can read.

A file is recognised by its first bytes. Each kind has one line that says what to do.
"""

HEAD = 1024
"""How many bytes of a file are looked at."""

HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
AVIF_BRANDS = (b"avif", b"avis")

HEIC_ADVICE = "is a HEIC picture: pip install pillow-heif, or convert it to JPEG"
AVIF_ADVICE = "is an AVIF picture: pip install 'pillow>=11.3', or convert it to JPEG"
RAW_ADVICE = "is a camera RAW file: export it as JPEG"
VIDEO_ADVICE = "is a video: save some of its frames as JPEG files"

_STARTS = {
    b"%PDF": "is a PDF document: export the page as JPEG or PNG",
    b"%!PS": "is a PostScript document: export the page as JPEG or PNG",
    b"8BPS": "is a Photoshop document: export it as JPEG or PNG",
    b"PK\3\4": "is a ZIP archive: unpack it first",
    b"\xff\x0a": "is a JPEG XL picture: convert it to JPEG",
    b"\0\0\0\x0cJXL ": "is a JPEG XL picture: convert it to JPEG",
    b"FUJIFILMCCD-RAW": RAW_ADVICE,
    b"IIRO": RAW_ADVICE,
    b"IIRS": RAW_ADVICE,
    b"IIU\0": RAW_ADVICE,
    b"FOVb": RAW_ADVICE,
    b"\x1aE\xdf\xa3": VIDEO_ADVICE,
    b"\0\0\1\xba": VIDEO_ADVICE,
    b"\0\0\1\xb3": VIDEO_ADVICE,
}


def is_heif(head: bytes) -> bool:
    """Return whether a file that starts like this is a HEIC or HEIF picture."""
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS and not is_avif(head)


def is_avif(head: bytes) -> bool:
    """Return whether a file that starts like this is an AVIF picture."""
    if head[4:8] != b"ftyp":
        return False
    brands = head[8 : max(16, int.from_bytes(head[:4], "big"))]
    return any(brand in brands for brand in AVIF_BRANDS)


def advice_for(head: bytes) -> str | None:
    """Return what a file is and what to do about it, or None if its kind is not known.

    Args:
        head: The first bytes of the file, up to HEAD of them.

    >>> advice_for(b"%PDF-1.7")
    'is a PDF document: export the page as JPEG or PNG'
    """
    if head[4:8] == b"ftyp":
        return _advice_for_container(head)
    if head[:4] == b"II*\0" and head[8:10] == b"CR":
        return RAW_ADVICE
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return VIDEO_ADVICE
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith(b"<") and b"<svg" in text:
        return "is an SVG drawing: export it as PNG"
    if text.startswith((b"<!doctype html", b"<html")):
        return "is a web page, not a picture: download the picture itself"
    return next((advice for start, advice in _STARTS.items() if head.startswith(start)), None)


def _advice_for_container(head: bytes) -> str:
    """Return the advice for the family of formats that HEIC, AVIF, CR3 and MP4 belong to."""
    if is_avif(head):
        return AVIF_ADVICE
    if is_heif(head):
        return HEIC_ADVICE
    return RAW_ADVICE if head[8:12] == b"crx " else VIDEO_ADVICE
