"""Instants in bodies: ISO 8601, or Unix milliseconds."""

from datetime import UTC, datetime

from schemas.errors import Malformed

Instant = str | int | None
MAX_MS = 253_402_300_799_000
"""The end of the year 9999."""


def parse_instant(member: str, value: Instant) -> int | None:
    """Unix milliseconds of an ISO 8601 instant or of a number of them; Malformed."""
    if value is None:
        return None
    if isinstance(value, int):
        ms = value
    else:
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            raise Malformed(f"'{member}' must be an ISO 8601 instant or null") from None
        ms = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    if not 0 <= ms <= MAX_MS:
        raise Malformed(f"'{member}' must lie between 1970 and 9999")
    return ms
