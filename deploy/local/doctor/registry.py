"""Checks of the registry: it is whole, its backup is of now, the lake and the demo fit it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from deploy.demo.registry_records import DEMO_FILE, read_demo
from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from deploy.local.registry_startup import (
    error_reason,
    has_registry_traces,
    registry_loss,
    restore_backup,
)
from schemas.registry import Backups, DatabaseError, RegistryStore, Snapshot
from schemas.registry.backups import BackupDamaged, read_backup, write_backup
from schemas.registry.database import sqlite_path
from schemas.registry.migrate import newest_schema_revision, schema_revision
from schemas.registry.records import Action, Change
from schemas.registry.restore import registry_fault
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.environment import PREFIX
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings
from stream.recovery.recent_subjects import recent_subjects

RESTORE_COMMAND = "tidemark registry restore"
BACKUP_COMMAND = "tidemark registry backup"
BACKUP_OVERDUE_MS = 60_000
"""Age of a change at which its backup is overdue: the keeper writes one within seconds."""
MAX_SHOWN = 5
MAX_CHANGES = 1_000_000
LOOKBACK_DAYS = 35
"""How far back stored rows are looked for."""


def find_registry_problems(scope: CheckContext) -> Iterator[Finding]:
    """Whether it is there and whole; what can be looked at only then is looked at then."""
    settings, backups = scope.settings, Backups.for_settings(scope.settings)
    subject = str(sqlite_path(settings.registry_url) or f"{PREFIX}REGISTRY")
    try:
        if registry_fault(settings.registry_url) and not has_registry_traces(settings, backups):
            raise CheckSkipped("there is no registry yet: `tidemark up` makes it")
        if fault := registry_loss(settings, backups):
            yield _loss_finding(subject, fault, backups)
            return
        yield from _integrity_findings(settings, subject)
        if finding := _schema_finding(settings, subject):
            yield finding
            return
        with closing(RegistryStore(settings.registry_url)) as store:
            yield from _backup_findings(store, backups)
            known = Snapshot.read(store)
            yield from _demo_findings(settings, known)
            yield from _unknown_website_findings(settings, known, store.changes(MAX_CHANGES))
    except (DatabaseError, ImportError) as away:
        yield Finding(
            subject=subject,
            problem=f"it cannot be opened: {error_reason(away)}",
            meaning="Services go on with what they have in memory; links and imports cannot be "
            "written, and no key or website can be added.",
            remedy=f"mend what the message names; {PREFIX}REGISTRY says which database it is",
        )


def repair_registry(scope: CheckContext, finding: Finding) -> str | None:
    """Bring a lost registry back by the rule of `tidemark up`; write a backup that is overdue."""
    settings, backups = scope.settings, Backups.for_settings(scope.settings)
    if finding.remedy == BACKUP_COMMAND:
        with closing(RegistryStore(settings.registry_url)) as store:
            written = write_backup(store, backups, now_ms())
        return f"{finding.subject}: a backup was written: {written}" if written else None
    newest = (
        backups.newest() if finding.remedy == RESTORE_COMMAND and not settings.registry else None
    )
    if newest is None:
        return None
    restore_backup(settings, backups, newest)
    return f"{finding.subject}: restored from {newest.path}"


def _loss_finding(subject: str, fault: str, backups: Backups) -> Finding:
    newest = backups.newest()
    return Finding(
        subject=subject,
        problem=f"the registry is lost: {fault}",
        meaning="Services that run go on with what they have in memory, and change nothing in it. "
        + ("A start restores it by itself." if newest else "A start is refused until it is back."),
        remedy=RESTORE_COMMAND
        if newest
        else "put a copy of your own back, or tidemark registry new",
    )


def _integrity_findings(settings: Settings, subject: str) -> Iterator[Finding]:
    """The thorough look that a start has no time for."""
    path = sqlite_path(settings.registry_url)
    if path is None:
        return
    uri = f"file:{quote(str(path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as damaged:
        said, orphans = [str(damaged)], []
    if said != ["ok"] or orphans:
        yield Finding(
            subject=subject,
            problem=said[0] if said != ["ok"] else f"{len(orphans)} records have no owner",
            meaning="Parts of it cannot be read, or are wrong: keys, websites or links may fail.",
            remedy=f"{RESTORE_COMMAND} --replace",
        )


def _schema_finding(settings: Settings, subject: str) -> Finding | None:
    level, newest = schema_revision(settings.registry_url), newest_schema_revision()
    if level == newest:
        return None
    older = level is None or level < newest
    return Finding(
        subject=subject,
        problem=f"its tables are of form {level}, this version's are of form {newest}",
        meaning="Services of this version cannot read it and go on with its backup."
        if older
        else "A newer version has changed it; this one may not know all that is in it.",
        remedy="tidemark up (or any command that reads it, such as tidemark websites list)"
        if older
        else "use the newer version",
    )


def _backup_findings(store: RegistryStore, backups: Backups) -> Iterator[Finding]:
    head, now = backups.newest_header(), now_ms()
    changed = next(iter(store.changes(1)), None)
    since = changed.at if changed else 0
    if store.read_version().revision and (head is None or head.stamp != store.read_version()):
        if now - since > BACKUP_OVERDUE_MS:
            yield Finding(
                subject=str(backups.folder),
                problem=f"the newest backup is of {format_instant(head.taken_ms)}"
                if head
                else "there is no backup of the registry",
                meaning="What was changed since is lost if the registry is; the keeper writes "
                "one within seconds, so it does not run or cannot write there.",
                remedy=BACKUP_COMMAND,
            )
    elif head is not None:
        yield from _damaged_backup_findings(backups)


def _damaged_backup_findings(backups: Backups) -> Iterator[Finding]:
    try:
        for path in backups.paths()[:1]:
            read_backup(path)
    except (BackupDamaged, OSError) as damaged:
        yield Finding(
            subject=str(backups.folder),
            problem=f"the newest backup cannot be used: {damaged}",
            meaning="The registry would come back as the one before has it.",
            remedy=f"remove that file, then {BACKUP_COMMAND}",
        )


def _demo_findings(settings: Settings, known: Snapshot) -> Iterator[Finding]:
    demo = read_demo(settings.data)
    if demo is None:
        return
    absent = [
        word
        for word, there in (
            ("website", demo.website_id in known.websites),
            ("link", demo.link_id in known.links),
            ("key", known.find_key(demo.api_key, now_ms()) is not None),
        )
        if not there
    ]
    if absent:
        yield Finding(
            subject=str(settings.data / DEMO_FILE),
            problem=f"the registry does not know its {' and its '.join(absent)}",
            meaning="`tidemark demo` and commands without --key do not work; all else does.",
            remedy=f"remove {DEMO_FILE}: the next tidemark up makes a new demo",
        )


def _unknown_website_findings(
    settings: Settings, known: Snapshot, trail: Sequence[Change]
) -> Iterator[Finding]:
    """Websites whose rows were stored under this registry or one before it, and are not known."""
    first = trail[-1] if trail else None
    # What was deleted before the trail began is not told apart from what was lost.
    since = first.at if first and first.action is not Action.RESTORE else 0
    deleted = {change.record_id for change in trail if change.action is Action.DELETE}
    here = known.websites.keys() | known.organizations.keys() | deleted
    day = f"{datetime.now(UTC) - timedelta(days=LOOKBACK_DAYS):%Y-%m-%d}"
    unknown = [
        one
        for one in recent_subjects(settings, day)
        if one.subject_id not in here and one.last_ms >= since
    ]
    if unknown:
        shown = ", ".join(f"{one.subject_id} ({one.rows:,} rows)" for one in unknown[:MAX_SHOWN])
        more = f" and {len(unknown) - MAX_SHOWN} more" if len(unknown) > MAX_SHOWN else ""
        yield Finding(
            subject=settings.lake_url,
            problem=f"rows of websites that the registry does not know: {shown}{more}",
            meaning="Nobody can ask for these rows, and what is sent for these websites is refused "
            "and lost. If they were deleted on purpose, all is well.",
            remedy="tidemark websites create --id ID, or tidemark registry restore --replace "
            "--from a backup that has them",
        )


REGISTRY_CHECK = Check(
    "registry",
    "it is whole and backed up, and the lake and the demo fit it",
    find_registry_problems,
    repair_registry,
    of_full_disk=lambda finding: finding.remedy == BACKUP_COMMAND,
)
