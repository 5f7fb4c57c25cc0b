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
    refusal = refusal_reason(settings.data / "run", now_ms())
    return ". ".join([*([files] if count else []), *([refusal] if refusal else [])])


class DamageWatch:
    """Prints a line whenever the damage changes."""

    def __init__(self, damage: Callable[[], str], say: Callable[[str], None]) -> None:
        self._find_damage = damage
        self._say = say
        self._last = ""

    def check(self) -> None:
        """Print the current damage if it has changed since the last call."""
        damage = self._find_damage()
        if damage != self._last:
            self._last = damage
            self._say(f"damage: {damage or 'none any more'}")
