"""Unknown parameters of a query string: they are ignored, and named in the response."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import Struct

WEBSITE_PARAMETER_NAMES = ("website_id", "client_id")
KNOWN_PARAMETERS = (*WEBSITE_PARAMETER_NAMES, "wait", "timeout", "import_id", "follow")
TRACKER_PARAMETERS = frozenset(("sdk_name", "sdk_version"))
"""Parameters that supported trackers send and nobody can change: not named."""

MAX_LISTED_NAMES = 10
MAX_NAME_LENGTH = 64
MIN_SIMILARITY = 0.6


class IgnoredParameters(Struct, frozen=True, gc=False):
    """Parameters of the query string that were ignored."""

    names: Sequence[str]
    message: str
    """Which parameter each may mean."""


def ignored_parameters(names: Iterable[str]) -> IgnoredParameters | None:
    """The unknown ones of these parameters; None if there are none."""
    unknown = [
        name for name in names if name not in KNOWN_PARAMETERS and name not in TRACKER_PARAMETERS
    ]
    if not unknown:
        return None
    listed = [name[:MAX_NAME_LENGTH] for name in unknown[:MAX_LISTED_NAMES]]
    return IgnoredParameters(listed, "; ".join(map(_advice, listed)))


def _advice(name: str) -> str:
    meant = get_close_matches(name.lower(), KNOWN_PARAMETERS, n=1, cutoff=MIN_SIMILARITY)
    hint = f"did you mean '{meant[0]}'?" if meant else "fields of items belong in the body"
    return f"'{name}' in the query string is ignored; {hint}"
