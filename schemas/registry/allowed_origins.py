"""Origin allow-list of a website.

It keeps pages of other sites from using the website id. It does not stop bots and scripts, which
can send any `Origin` or none; API keys do.
"""

import re
from collections.abc import Sequence

from schemas.errors import Malformed

MAX_ORIGINS = 50
ORIGIN_PATTERN = re.compile(
    r"https?://((\*\.)?[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?"
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def validate_origins(values: Sequence[str], member: str = "allowedOrigins") -> tuple[str, ...]:
    """Normalize origins: lower case, no default ports, no duplicates; Malformed."""
    if len(values) > MAX_ORIGINS:
        raise Malformed(f"'{member}' may have at most {MAX_ORIGINS} origins")
    return tuple(dict.fromkeys(_validate_origin(value, member) for value in values))


def origin_allowed(origins: Sequence[str], origin: str) -> bool:
    """Whether the list has the origin, or a wildcard for one of its parent domains."""
    if origin in origins:
        return True
    scheme, _, host = origin.partition("://")
    return any(
        host.endswith(suffix.removeprefix("*")) and scheme == kind
        for kind, _, suffix in (allowed.partition("://") for allowed in origins)
        if suffix.startswith("*.")
    )


def _validate_origin(value: str, member: str) -> str:
    origin = value.strip().lower().rstrip("/")
    origin = origin.removesuffix(DEFAULT_PORTS.get(origin.partition(":")[0], "/"))
    if not ORIGIN_PATTERN.fullmatch(origin) or len(origin) > 255:
        raise Malformed(
            f"'{member}' has '{value[:100]}'; give an origin such as https://shop.example "
            "or https://*.shop.example"
        )
    return origin
