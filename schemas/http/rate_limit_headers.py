"""The X-RateLimit-* headers and the 429 error of a bucket."""

from datetime import UTC, datetime

from msgspec import Struct

from schemas.errors import RateLimitExceeded
from schemas.plans import WINDOW_SECONDS

Headers = list[tuple[bytes, bytes]]

WINDOW_MS = WINDOW_SECONDS * 1000


class RateLimitStatus(Struct, frozen=True, gc=False):
    """State of a rate limit, as responses show it."""

    limit: int
    remaining: int
    reset_ms: int

    def headers(self) -> Headers:
        """X-RateLimit-Limit, -Remaining and -Reset; reset is in Unix seconds, rounded up."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % -(-self.reset_ms // 1000)),
        ]


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
