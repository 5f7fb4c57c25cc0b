"""Findings that an operator accepted, with the reason, kept in the audit trail."""

from collections.abc import Sequence
from contextlib import closing

from schemas.registry import DatabaseError, RegistryStore
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings


class NotAccepted(Exception):
    """There is no such finding now, or it can be repaired."""


def accepted_findings(settings: Settings) -> frozenset[str]:
    """Ids of accepted findings; empty while the registry cannot be read."""
    try:
        with closing(RegistryStore(settings.registry_url)) as store:
            return store.accepted()
    except (DatabaseError, ImportError):
        return frozenset()


def accept(
    store: RegistryStore, findings: Sequence[Finding], finding_id: str, reason: str
) -> Finding:
    """Record in the audit trail that one of these findings is accepted; else NotAccepted."""
    finding = next((finding for finding in findings if finding.id == finding_id), None)
    if not finding_id or finding is None:
        raise NotAccepted(f"there is no finding '{finding_id}' that can be accepted")
    summary = f"{finding.subject}: {finding.problem}"
    store.accept(finding_id, (f"accepted: {summary}", f"reason: {reason}"))
    return finding
