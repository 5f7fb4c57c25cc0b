"""Reports damaged data files and tables on the screen while Tidemark runs."""

from collections.abc import Callable

from schemas.lake.damage_reports import DamageReports
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.settings import Settings

REPAIR = "tidemark doctor --repair"


def damage_of(settings: Settings) -> str:
    """Damaged files and refused topics with the command to run; empty when there are none."""
    count = len(DamageReports(settings.data).files())
    files = (
        f"{count} data file{'s are' if count > 1 else ' is'} damaged; queries that need "
        f"{'them' if count > 1 else 'it'} fail, everything else works. Run {REPAIR}"
    )
    refused = refusal_reason(settings.data / "run", now_ms())
    return ". ".join([*([files] if count else []), *([refused] if refused else [])])


class DamageWatch:
    """Prints a line whenever the damage changes."""

    def __init__(self, found: Callable[[], str], say: Callable[[str], None]) -> None:
        self._found = found
        self._say = say
        self._said = ""

    def look(self) -> None:
        """Print the current damage if it has changed since the last call."""
        found = self._found()
        if found != self._said:
            self._said = found
            self._say(f"damage: {found or 'none any more'}")
