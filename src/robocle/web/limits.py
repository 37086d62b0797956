"""Limits: how much one client may send, before anything is decoded."""

import time
from collections import OrderedDict
from collections.abc import Callable

from robocle.errors import RobocleError

MAX_FRAME_BYTES = 2_000_000
"""The largest message over the WebSocket. A frame of the page has about 20 kB."""
MAX_PICTURE_BYTES = 25_000_000
"""The largest picture that can be uploaded."""
MAX_PICTURE_PIXELS = 64_000_000
MAX_STATE_BYTES = 200_000_000
"""The largest state that can be imported."""
MAX_JSON_BYTES = 20_000
MAX_BYTES_IN_FLIGHT = 500_000_000
"""What all requests together may hold in memory."""
MAX_CLIENTS = 64
"""How many WebSockets may be open."""
MAX_LABELS = 2000
BODY_SECONDS = 60
"""How long a client may take to send a request."""
REQUESTS_PER_SECOND, BURST = 200.0, 400.0
"""Requests and messages that one address may send. The page sends one frame at a time."""
FAILURES_PER_SECOND, FAILURE_BURST = 0.2, 10.0
"""Wrong tokens that one address may send."""
REMEMBERED_ADDRESSES = 4096


class RequestError(RobocleError, ValueError):
    """A request that the server refuses.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RateLimit:
    """A token bucket per address.

    Args:
        rate: How many requests per second are allowed in the long run.
        burst: How many are allowed at once.
        clock: Returns the time in seconds.

    Example:
        >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
        >>> [limit.allows("10.0.0.7") for _ in range(3)]
        [True, True, False]
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Count a request, and return whether it is within the limit."""
        left = self._left(address)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left), self._clock()
        self._buckets.move_to_end(address)
        while len(self._buckets) > REMEMBERED_ADDRESSES:
            self._buckets.popitem(last=False)
        return allowed

    def is_exhausted(self, address: str) -> bool:
        """Return whether the next request would be over the limit; it is not counted."""
        return self._left(address) < 1

    def _left(self, address: str) -> float:
        left, then = self._buckets.get(address, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - then) * self._rate)
