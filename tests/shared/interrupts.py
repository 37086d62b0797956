"""Interrupts at a chosen bytecode, as an impatient user or a time-out may cause them."""

import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import robocle

SOURCE = str(Path(robocle.__file__).parent)
# Python looks for interrupts after calls and jumps, and never between taking a lock and the block
# that releases it. A trace function can interrupt there, and would leave these global locks taken.
NOT_INTERRUPTED = {str(Path(SOURCE, name)) for name in ("blas.py", "imports.py")}


class Interrupt:
    """Raises KeyboardInterrupt before a bytecode of robocle.

    Args:
        at: Its number among the bytecodes that are executed in this context; 0 only counts them.
    """

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self.count = 0

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._entered)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        sys.settrace(self._before)
        return kind is KeyboardInterrupt

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(SOURCE) or file in NOT_INTERRUPTED:
            return None
        frame.f_trace_opcodes = True
        return self._traced

    def _traced(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.count += 1
            if self.count == self._at:
                raise KeyboardInterrupt
        return self._traced
