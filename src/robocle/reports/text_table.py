"""Plain-text tables: columns in line, for a terminal."""

from collections.abc import Sequence

from robocle._internal.wording import printable

SIDES = {"l": "left", "r": "right"}


def text_table(
    rows: Sequence[Sequence[object]],
    headers: Sequence[str] = (),
    *,
    align: str = "",
    indent: int = 0,
) -> str:
    """Return a table as lines of text, with two spaces between columns.

    Args:
        rows: The rows, each with one cell per column. Cells are printed with `str`; None is empty.
            Control characters are escaped.
        headers: One header per column, or nothing for a table without headers.
        align: One letter per column, "l" for left or "r" for right. By default the first column is
            aligned left and all others right.
        indent: How many spaces to put before each line.

    Returns:
        The lines, without a newline at the end. An empty table is an empty string.

    Raises:
        ValueError: If `align`, `headers` and `rows` differ in their number of columns.

    Example:
        >>> print(text_table([["mug", 12], ["ball", 3]], ["label", "pictures"]))
        label  pictures
        mug          12
        ball          3
    """
    from tabulate import tabulate

    # The headers are the first row: tabulate would make their columns wider than they need be.
    lines = [
        [None if cell is None else printable(cell) for cell in row]
        for row in ([headers, *rows] if headers else rows)
    ]
    if not lines:
        return ""
    align = align or "l" + "r" * (len(lines[0]) - 1)
    if any(len(line) != len(align) for line in lines):
        raise ValueError(f"every row must have {len(align)} cells, one per letter of {align!r}")
    sides = [SIDES[letter] for letter in align]
    text: str = tabulate(lines, tablefmt="plain", colalign=sides, disable_numparse=True)
    return "\n".join(" " * indent + line for line in text.splitlines())
