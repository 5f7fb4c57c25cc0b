"""Damage that is found while everything runs: a line on the screen when it comes or goes."""

from collections.abc import Callable

from schemas.lake.damage_reports import DamageReports
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.settings import Settings

REPAIR = "tidemark doctor --repair"


def damage_of(settings: Settings) -> str:
    """What is damaged or not stored, and what to run, in a sentence; empty when all is well."""
    count = len(DamageReports(settings.data).files())
    files = (
        f"{count} data file{'s are' if count > 1 else ' is'} damaged; questions that need "
        f"{'them' if count > 1 else 'it'} fail, all else goes on: {REPAIR}"
    )
    refused = refusal_reason(settings.data / "run", now_ms())
    return ". ".join([*([files] if count else []), *([refused] if refused else [])])


class DamageWatch:
    """Says what is damaged whenever that changes."""

    def __init__(self, found: Callable[[], str], say: Callable[[str], None]) -> None:
        self._found = found
        self._say = say
        self._said = ""

    def look(self) -> None:
        """Compare what is damaged now with what was said."""
        found = self._found()
        if found != self._said:
            self._said = found
            self._say(f"damage: {found or 'all is well again'}")
