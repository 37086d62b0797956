"""A griffe extension: examples in docstrings become code on the site, with or without a heading.

Griffe knows the section "Examples:". Our docstrings also have "Example:" and, for short ones, bare
blocks of ">>>" lines, which Markdown would take for quotations.
"""

import re
from typing import Any

from griffe import Extension, Object

PROMPT = re.compile(r"^( *)>>> ")
HEADING = re.compile(r"^ *Examples?:$")


class Doctests(Extension):
    """Puts every example under the heading that griffe knows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object that was just loaded."""
        if obj.docstring:
            obj.docstring.value = with_headings(obj.docstring.value)


def with_headings(text: str) -> str:
    """Return a docstring whose examples are all in sections "Examples:"."""
    lines: list[str] = []
    bare = False
    for line in text.splitlines():
        if HEADING.match(line):
            line = line.replace("Example:", "Examples:")
        elif PROMPT.match(line) and (not lines or not lines[-1].strip()):
            bare = not _under_heading(lines)
            if bare:
                lines.append("Examples:")
        elif not line.strip():
            bare = False
        lines.append(f"    {line}" if bare else line)
    return "\n".join(lines)


def _under_heading(lines: list[str]) -> bool:
    """Whether the last lines belong to a section with examples."""
    for line in reversed(lines):
        if line.strip() and not line.startswith(" "):
            return bool(HEADING.match(line))
    return False
