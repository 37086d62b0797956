"""Tables of a report, and how they are written as text, Markdown, LaTeX and HTML.

A table holds numbers; how they are rounded and laid out is decided here, for all reports.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

from robocle._internal.wording import printable

LEAST = 1e-6
"""What is smaller is printed as 0: it may be a rounding error."""
RowKind = Literal["result", "gain"]
Better = Literal["high", "low", ""]
"""Whether a high or a low number is good; "" if neither is, or if rows are not compared."""
BOLD = "\ue000", "\ue001"
"""Around what LaTeX prints bold: characters that tabulate does not escape."""


@dataclass(frozen=True)
class Cell:
    """A number in a table.

    Attributes:
        mean: The number itself, or its mean over the orderings.
        deviation: The standard deviation over the orderings, where there are several.
        paper: The number that the paper prints for the same experiment.
    """

    mean: float
    deviation: float | None = None
    paper: float | None = None


@dataclass(frozen=True)
class CellText:
    """The numbers of a cell as text; what is not there is an empty string."""

    mean: str
    deviation: str = ""
    paper: str = ""
    difference: str = ""
    """Our number less the paper's."""


@dataclass(frozen=True)
class Row:
    """A row: its name and one cell per column; None where there is no number."""

    name: str
    cells: tuple[Cell | None, ...]
    kind: RowKind = "result"
    """A "gain" belongs to the row above it and is printed less prominently."""


@dataclass(frozen=True)
class Table:
    """A table in a report.

    Attributes:
        title: What the table shows, with the unit.
        columns: The headers of the columns after the first, which holds the names of the rows.
        rows: The rows, each with one cell per column.
        decimals: How many decimals are printed.
        better: For each column, which numbers are good: the best one is printed bold.
        caution: Why the paper's numbers are no match for these; no difference is printed then.

    Example:
        >>> table = Table("Accuracy, %", ("clean", "blur"), (Row("SLDA", (Cell(98.25), None)),), 1)
        >>> print(table.as_text())
              clean  blur
        SLDA   98.2     -
        >>> print(table.as_markdown())
        |      |   clean |   blur |
        |:-----|--------:|-------:|
        | SLDA |    98.2 |      - |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    decimals: int = 2
    better: tuple[Better, ...] = ()
    caution: str = ""

    def without_empty_columns(self) -> "Table":
        """Return the table without the columns in which no row has a number."""
        kept = [any(column) for column in zip(*(row.cells for row in self.rows), strict=True)]
        rows = tuple(replace(row, cells=tuple(compress(row.cells, kept))) for row in self.rows)
        columns, better = tuple(compress(self.columns, kept)), tuple(compress(self.better, kept))
        return replace(self, columns=columns, rows=rows, better=better)

    def sorted_by(self, column: int) -> "Table":
        """Return the table with its best rows first; a gain stays below the row it belongs to."""
        groups: list[list[Row]] = []
        for row in self.rows:
            if row.kind == "gain" and groups:
                groups[-1].append(row)
            else:
                groups.append([row])
        sign = 1 if self.better[column] == "low" else -1

        def rank(group: list[Row]) -> float:
            cell = group[0].cells[column]
            return math.inf if cell is None else sign * cell.mean

        return replace(self, rows=tuple(row for group in sorted(groups, key=rank) for row in group))

    @property
    def best(self) -> frozenset[tuple[int, int]]:
        """The places (row, column) of the best results, unless all results of a column are equal.

        Example:
            >>> rows = (Row("NCM", (Cell(90.0),)), Row("SLDA", (Cell(95.0),)))
            >>> Table("Accuracy, %", ("clean",), rows, better=("high",)).best
            frozenset({(1, 0)})
        """
        found: set[tuple[int, int]] = set()
        for column, better in enumerate(self.better):
            printed = {
                place: float(cell_parts(cell, self.decimals).mean)
                for place, row in enumerate(self.rows)
                if better and row.kind == "result" and (cell := row.cells[column])
            }
            if len(set(printed.values())) > 1:
                best = (max if better == "high" else min)(printed.values())
                found |= {(place, column) for place, value in printed.items() if value == best}
        return frozenset(found)

    def as_text(self) -> str:
        """Return the table as plain text, without its title."""
        head, *body = self._lines(str)
        return text_table(body, head)

    def as_markdown(self) -> str:
        """Return the table as Markdown, without its title."""
        return self._written("pipe", markdown_text, ("**", "**"))

    def as_latex(self) -> str:
        """Return the table as a LaTeX table with its title as caption; it needs booktabs."""
        caption = f"\\caption{{{latex_text(self.title)}}}"
        tabular = self._written("latex_booktabs", _one_line, BOLD).translate(LATEX_SIGNS)
        return f"\\begin{{table}}[t]\n\\centering\n{caption}\n{tabular}\n\\end{{table}}"

    def _written(self, style: str, escape: Callable[[str], str], bold: tuple[str, str]) -> str:
        """Return the table in a style of tabulate, with escaped cells and the best ones bold."""
        from tabulate import tabulate

        head, *body = self._lines(escape)
        for row, column in self.best:
            mean, _, rest = body[row][column + 1].partition(" ")
            body[row][column + 1] = f"{bold[0]}{mean}{bold[1]} {rest}".rstrip()
        sides = ["left", *["right"] * len(self.columns)]
        text: str = tabulate(body, head, style, colalign=sides, disable_numparse=True)
        return text

    def _lines(self, escape: Callable[[str], str]) -> list[list[str]]:
        rows = (
            [row.name, *(cell_text(cell, self.decimals, self.caution) for cell in row.cells)]
            for row in self.rows
        )
        return [[escape(text) for text in line] for line in (["", *self.columns], *rows)]


def cell_parts(cell: Cell | None, decimals: int, caution: str = "") -> CellText:
    """Return the numbers of a cell as text, rounded.

    A small number that would be rounded to 0 has as many decimals as its first digit needs. With a
    caution, there is no difference from the paper's number.

    Example:
        >>> cell_parts(Cell(47.0, 1.0, 47.68), 1)
        CellText(mean='47.0', deviation='1.0', paper='47.7', difference='-0.7')
        >>> cell_parts(Cell(0.0042), 1).mean
        '0.004'
    """
    if cell is None:
        return CellText("-")
    if LEAST <= abs(cell.mean) < 0.5 * 10**-decimals:
        decimals = -math.floor(math.log10(abs(cell.mean)))
    deviation = "" if cell.deviation is None else f"{cell.deviation:.{decimals}f}"
    if cell.paper is None:
        return CellText(f"{cell.mean:z.{decimals}f}", deviation)
    paper = f"{cell.paper:.{decimals}f}"
    difference = "" if caution else f"{cell.mean - cell.paper:+z.{decimals}f}"
    return CellText(f"{cell.mean:z.{decimals}f}", deviation, paper, difference)


def cell_text(cell: Cell | None, decimals: int, caution: str = "") -> str:
    """Return a cell as one line of text.

    Example:
        >>> cell_text(Cell(47.0, 1.0, 47.68), 2)
        '47.00 ± 1.00 (paper 47.68, -0.68)'
    """
    parts = cell_parts(cell, decimals, caution)
    text = f"{parts.mean} ± {parts.deviation}" if parts.deviation else parts.mean
    papers = ", ".join(filter(None, (parts.paper, parts.difference)))
    return f"{text} (paper {papers})" if papers else text


# What tabulate does not escape. The end of a row would take a bracket or an asterisk after it.
LATEX_SIGNS = str.maketrans(
    {
        BOLD[0]: r"\textbf{",
        BOLD[1]: "}",
        "±": r"$\pm$",
        "`": r"\textasciigrave{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "*": "{*}",
    }
)
# Markdown leaves an underscore within a word alone, and an ampersand that starts no entity.
MARKDOWN_SIGNS = re.compile(r"[\\`*\[\]<>|#$~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def latex_text(text: str) -> str:
    r"""Return plain text as LaTeX that prints it.

    Example:
        >>> print(latex_text("lite0_int8: 98 %"))
        lite0\_int8: 98 \%
    """
    from tabulate import LATEX_ESCAPE_RULES

    escaped = "".join(LATEX_ESCAPE_RULES.get(sign, sign) for sign in _one_line(text))
    return escaped.translate(LATEX_SIGNS)


def markdown_text(text: str) -> str:
    r"""Return plain text as Markdown that prints it, also within a table.

    Example:
        >>> print(markdown_text("lite0_int8 *new* | 5 < 6"))
        lite0_int8 \*new\* \| 5 \< 6
    """
    return MARKDOWN_SIGNS.sub(r"\\\g<0>", _one_line(text))


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


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
    sides = ["left" if letter == "l" else "right" for letter in align]
    text: str = tabulate(lines, tablefmt="plain", colalign=sides, disable_numparse=True)
    return "\n".join(" " * indent + line for line in text.splitlines())
