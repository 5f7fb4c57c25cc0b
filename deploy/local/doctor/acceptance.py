"""Findings that cannot be undone are accepted by an operator, with a reason, in the audit trail."""

from collections.abc import Sequence
from contextlib import closing

from deploy.local.doctor.check import CheckResult
from schemas.registry import DatabaseError, RegistryStore
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings


class NotAccepted(Exception):
    """There is no such finding now, or it can be mended."""


def accepted_findings(settings: Settings) -> frozenset[str]:
    """Ids of what was accepted; none as long as the registry cannot be read."""
    try:
        with closing(RegistryStore(settings.registry_url)) as store:
            return store.accepted()
    except (DatabaseError, ImportError):
        return frozenset()


def accept(
    store: RegistryStore, outcomes: Sequence[CheckResult], finding_id: str, reason: str
) -> Finding:
    """Write down that a finding of these outcomes is accepted; NotAccepted."""
    found = [one for outcome in outcomes for one in outcome.findings if one.id == finding_id]
    if not finding_id or not found:
        raise NotAccepted(f"there is no finding '{finding_id}' that can be accepted")
    what = f"{found[0].subject}: {found[0].problem}"
    store.accept(finding_id, (f"accepted: {what}", f"reason: {reason}"))
    return found[0]
