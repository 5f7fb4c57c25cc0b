"""The registry, brought to this version's form before anybody reads it."""

from schemas.registry import DatabaseError
from schemas.registry.migrate import migrate


class RegistryAway(Exception):
    """The registry cannot be opened."""


def ready_registry(url: str) -> str:
    """The same URL, when its tables are as this version needs them."""
    try:
        migrate(url)
    except (DatabaseError, OSError, ImportError) as away:
        # The first line says it; the others are the database driver's advice.
        reason = str(away).splitlines()[0] if str(away) else type(away).__name__
        raise RegistryAway(f"the registry cannot be opened: {reason}") from None
    return url
