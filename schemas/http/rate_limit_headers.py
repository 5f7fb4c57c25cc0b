"""The X-RateLimit-* headers and the 429 error of a bucket."""

from datetime import UTC, datetime

from msgspec import Struct

from schemas.errors import RateLimitExceeded
from schemas.plans import WINDOW_SECONDS

Headers = list[tuple[bytes, bytes]]

WINDOW_MS = WINDOW_SECONDS * 1000


HeaderNumbers = tuple[int, int, int]
"""Limit, remaining requests, and reset in Unix seconds, rounded up."""

HEADER_LINES = b"x-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n"
"""The same headers as bytes of a response, to be filled with HeaderNumbers."""


def rate_limit_headers(numbers: HeaderNumbers) -> Headers:
    """X-RateLimit-Limit, -Remaining and -Reset."""
    limit, remaining, reset = numbers
    return [
        (b"x-ratelimit-limit", b"%d" % limit),
        (b"x-ratelimit-remaining", b"%d" % remaining),
        (b"x-ratelimit-reset", b"%d" % reset),
    ]


class RateLimitStatus(Struct, frozen=True, gc=False):
    """State of a rate limit, as responses show it."""

    limit: int
    remaining: int
    reset_ms: int

    def header_numbers(self) -> HeaderNumbers:
        """What the headers show."""
        return self.limit, self.remaining, -(-self.reset_ms // 1000)

    def headers(self) -> Headers:
        """The X-RateLimit-* response headers."""
        return rate_limit_headers(self.header_numbers())


def rate_limit_error(
    status: RateLimitStatus, now_ms: int, which_limit: str = ""
) -> RateLimitExceeded:
    """The 429 error, with the limit that is exceeded and the time of its reset."""
    reset = datetime.fromtimestamp(status.reset_ms / 1000, UTC)
    return RateLimitExceeded(
        status.limit,
        reset.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        max(1, -(-(status.reset_ms - now_ms) // 1000)),
        which_limit,
    )
