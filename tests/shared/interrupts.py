"""Interrupts at a chosen instant, as an impatient user or a time-out may cause them."""

import contextlib
import dis
import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

import robocle

SOURCES = str(Path(robocle.__file__).parent), str(contextlib.__file__)
# Python looks for interrupts when it has executed one of these, and never between taking a lock and
# the block that releases it.
INTERRUPTED_AFTER = ("CALL", "JUMP_BACKWARD", "POP_JUMP_BACKWARD", "RESUME")


class Interrupt:
    """Raises KeyboardInterrupt in robocle, after a bytecode at which Python looks for interrupts.

    Args:
        at: Its number among those that are executed in this context; 0 only counts them.
    """

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self._codes: dict[CodeType, bytes] = {}
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
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        frame.f_trace_opcodes = True
        code = self._codes.setdefault(frame.f_code, frame.f_code.co_code)
        last = ""

        def traced(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "opcode":
                if last.startswith(INTERRUPTED_AFTER):
                    self.count += 1
                    if self.count == self._at:
                        raise KeyboardInterrupt
                last = dis.opname[code[frame.f_lasti]]
            return traced

        return traced
