"""Names of time zones of the IANA database."""

from functools import lru_cache
from zoneinfo import available_timezones

NO_ZONES = frozenset(("localtime", "Factory"))
"""What a machine is set to, and a placeholder: their days would depend on the machine."""


@lru_cache(maxsize=1)
def time_zones() -> frozenset[str]:
    """Every name that means the same on all machines."""
    return frozenset(available_timezones()) - NO_ZONES
