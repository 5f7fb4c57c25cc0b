"""X-RateLimit-* headers and the 429 error."""

from schemas.http.rate_limit_headers import RateLimitStatus, rate_limit_error


def test_the_headers_are_whole_seconds() -> None:
    assert RateLimitStatus(5, 4, 1_060_001).headers() == [
        (b"x-ratelimit-limit", b"5"),
        (b"x-ratelimit-remaining", b"4"),
        (b"x-ratelimit-reset", b"1061"),
    ]


def test_a_rate_limit_error_says_when_to_retry() -> None:
    error = rate_limit_error(RateLimitStatus(5, -1, 1_060_000), 1_030_500)

    assert error.details == {
        "limit": 5,
        "remaining": 0,
        "reset": "1970-01-01T00:17:40.000Z",
        "retryAfter": 30,
    }
