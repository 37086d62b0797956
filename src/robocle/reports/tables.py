"""Tables of a report, and how they are written as text, Markdown, LaTeX and HTML.

A table holds numbers; how they are rounded and laid out is decided here, for all reports.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from robocle._internal.wording import printable
from robocle.reports.text_table import text_table

LEAST = 1e-6
"""What is smaller is printed as 0: it may be a rounding error."""
RowKind = Literal["result", "gain"]


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

    Example:
        >>> table = Table("Accuracy, %", ("clean", "blur"), (Row("SLDA", (Cell(98.25), None)),), 1)
        >>> print(table.as_text())
              clean  blur
        SLDA   98.2     -
        >>> print(table.as_markdown())
        | | clean | blur |
        |---|---|---|
        | SLDA | 98.2 | - |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    decimals: int = 2

    def as_text(self) -> str:
        """Return the table as plain text, without its title."""
        return text_table(self._lines(), ["", *self.columns])

    def as_markdown(self) -> str:
        """Return the table as Markdown, without its title."""
        head, *body = (map(markdown_text, line) for line in [self.columns, *self._lines()])
        lines = [f"| | {' | '.join(head)} |", "|---" * (len(self.columns) + 1) + "|"]
        return "\n".join(lines + [f"| {' | '.join(line)} |" for line in body])

    def as_latex(self) -> str:
        """Return the table as a LaTeX table with its title as caption; it needs booktabs."""
        lines = [["", *self.columns], *self._lines()]
        head, *body = (" & ".join(map(latex_text, line)) for line in lines)
        return "\n".join(
            [
                "\\begin{table}[t]",
                "  \\centering",
                f"  \\caption{{{latex_text(self.title)}}}",
                f"  \\begin{{tabular}}{{l{'c' * len(self.columns)}}}",
                f"    \\toprule\n    {head} \\\\\n    \\midrule",
                *(f"    {line} \\\\" for line in body),
                "    \\bottomrule\n  \\end{tabular}\n\\end{table}",
            ]
        )

    def _lines(self) -> list[list[str]]:
        return [
            [row.name, *(cell_text(cell, self.decimals) for cell in row.cells)] for row in self.rows
        ]


def cell_parts(cell: Cell | None, decimals: int) -> CellText:
    """Return the numbers of a cell as text, rounded.

    A small number that would be rounded to 0 has as many decimals as its first digit needs.

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
    paper, difference = f"{cell.paper:.{decimals}f}", f"{cell.mean - cell.paper:+z.{decimals}f}"
    return CellText(f"{cell.mean:z.{decimals}f}", deviation, paper, difference)


def cell_text(cell: Cell | None, decimals: int) -> str:
    """Return a cell as one line of text.

    Example:
        >>> cell_text(Cell(47.0, 1.0, 47.68), 2)
        '47.00 ± 1.00 (paper 47.68, -0.68)'
    """
    parts = cell_parts(cell, decimals)
    text = f"{parts.mean} ± {parts.deviation}" if parts.deviation else parts.mean
    return f"{text} (paper {parts.paper}, {parts.difference})" if parts.paper else text


LATEX_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "%_&#${}"}
    | {"±": r"$\pm$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}", "`": r"\textasciigrave{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
    | {"[": "{[}", "*": "{*}"}  # at the start of a row, the end of the row before would take them
)
# Markdown leaves an underscore within a word alone, and an ampersand that starts no entity.
MARKDOWN_SIGNS = re.compile(r"[\\`*\[\]<>|#$~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def latex_text(text: str) -> str:
    r"""Return plain text as LaTeX that prints it.

    Example:
        >>> print(latex_text("lite0_int8: 98 %"))
        lite0\_int8: 98 \%
    """
    return _one_line(text).translate(LATEX_SIGNS)


def markdown_text(text: str) -> str:
    r"""Return plain text as Markdown that prints it, also within a table.

    Example:
        >>> print(markdown_text("lite0_int8 *new* | 5 < 6"))
        lite0_int8 \*new\* \| 5 \< 6
    """
    return MARKDOWN_SIGNS.sub(r"\\\g<0>", _one_line(text))


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
