"""Checks of the registry: integrity, backup, schema, unknown websites."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from deploy.demo.demo_file import DEMO_FILE, read_demo
from deploy.local.doctor.check import STORE_AWAY, Check, CheckContext, CheckSkipped
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
"""Age of a change at which its backup is overdue; the keeper writes one within seconds."""
MAX_SHOWN = 5
MAX_CHANGES = 1_000_000
LOOKBACK_DAYS = 35
"""How far back rows of unknown websites are searched."""


def find_registry_problems(scope: CheckContext) -> Iterator[Finding]:
    """Problems of the registry; the later checks run only when it is present and intact."""
    settings, backups = scope.settings, Backups.for_settings(scope.settings)
    subject = str(sqlite_path(settings.registry_url) or f"{PREFIX}REGISTRY")
    try:
        fault = registry_fault(settings.registry_url)
        if fault and scope.store_away:
            yield _fault_finding(subject, fault, "correct the object store, which has its backups")
            return
        if fault and not has_registry_traces(settings, backups):
            raise CheckSkipped("there is no registry yet; `tidemark up` creates it")
        if not scope.store_away and (fault := registry_loss(settings, backups)):
            yield _loss_finding(subject, fault, backups)
            return
        yield from _integrity_findings(settings, subject)
        if finding := _schema_finding(settings, subject):
            yield finding
            return
        with closing(RegistryStore(settings.registry_url)) as store:
            known = Snapshot.read(store)
            yield from _demo_findings(settings, known)
            if scope.store_away:
                raise CheckSkipped(
                    f"it is intact; its backups and the websites of the lake were {STORE_AWAY}"
                )
            yield from _backup_findings(store, backups)
            yield from _unknown_website_findings(settings, known, store.changes(MAX_CHANGES))
    except (DatabaseError, ImportError) as error:
        yield _fault_finding(
            subject,
            error_reason(error),
            f"fix what the message names; {PREFIX}REGISTRY is the URL of the database",
        )


def repair_registry(scope: CheckContext, finding: Finding) -> str | None:
    """Restore a lost registry as `tidemark up` would; write an overdue backup."""
    settings, backups = scope.settings, Backups.for_settings(scope.settings)
    if finding.remedy == BACKUP_COMMAND:
        with closing(RegistryStore(settings.registry_url)) as store:
            written = write_backup(store, backups, now_ms())
        return f"{finding.subject}: backup written: {written}" if written else None
    newest = (
        backups.newest() if finding.remedy == RESTORE_COMMAND and not settings.registry else None
    )
    if newest is None:
        return None
    restore_backup(settings, backups, newest)
    return f"{finding.subject}: restored from {newest.path}"


def _fault_finding(subject: str, fault: str, remedy: str) -> Finding:
    return Finding(
        subject=subject,
        problem=f"it cannot be opened: {fault}",
        meaning="Services continue with the registry in memory; links, imports, keys and websites "
        "cannot be created or changed.",
        remedy=remedy,
    )


def _loss_finding(subject: str, fault: str, backups: Backups) -> Finding:
    newest = backups.newest()
    return Finding(
        subject=subject,
        problem=f"the registry is lost: {fault}",
        meaning="Running services continue with the registry in memory, and cannot change it. "
        + (
            "The next start restores it."
            if newest
            else "`tidemark up` refuses to start until it is restored."
        ),
        remedy=RESTORE_COMMAND
        if newest
        else "restore your own copy of the file, or tidemark registry new",
    )


def _integrity_findings(settings: Settings, subject: str) -> Iterator[Finding]:
    """The integrity check of SQLite, which is too slow for every start."""
    path = sqlite_path(settings.registry_url)
    if path is None:
        return
    uri = f"file:{quote(str(path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:
        problems, orphans = [str(error)], []
    if problems != ["ok"] or orphans:
        yield Finding(
            subject=subject,
            problem=problems[0]
            if problems != ["ok"]
            else f"{len(orphans)} records have no organization",
            meaning="Parts of it are unreadable or wrong: keys, websites or links may fail.",
            remedy=f"{RESTORE_COMMAND} --replace",
        )


def _schema_finding(settings: Settings, subject: str) -> Finding | None:
    level, newest = schema_revision(settings.registry_url), newest_schema_revision()
    if level == newest:
        return None
    older = level is None or level < newest
    return Finding(
        subject=subject,
        problem=f"its schema has revision {level}, this version needs revision {newest}",
        meaning="Services of this version cannot read it and continue with its backup."
        if older
        else "A newer version has migrated it; this version may not understand all of it.",
        remedy="tidemark up (or any command that reads it, such as tidemark websites list)"
        if older
        else "run the newer version of Tidemark",
    )


def _backup_findings(store: RegistryStore, backups: Backups) -> Iterator[Finding]:
    head, now = backups.newest_header(), now_ms()
    changed = next(iter(store.changes(1)), None)
    since = changed.at if changed else 0
    if store.read_version().revision and (head is None or head.stamp != store.read_version()):
        if now - since > BACKUP_OVERDUE_MS:
            yield Finding(
                subject=str(backups.folder),
                problem=f"the newest backup is from {format_instant(head.taken_ms)}"
                if head
                else "there is no backup of the registry",
                meaning="Later changes are lost if the registry is lost. The keeper writes a "
                "backup "
                "within seconds, so it is not running or cannot write there.",
                remedy=BACKUP_COMMAND,
            )
    elif head is not None:
        yield from _damaged_backup_findings(backups)


def _damaged_backup_findings(backups: Backups) -> Iterator[Finding]:
    try:
        for path in backups.paths()[:1]:
            read_backup(path)
    except (BackupDamaged, OSError) as error:
        yield Finding(
            subject=str(backups.folder),
            problem=f"the newest backup is unusable: {error}",
            meaning="A restore would use the backup before it.",
            remedy=f"delete that file, then {BACKUP_COMMAND}",
        )


def _demo_findings(settings: Settings, known: Snapshot) -> Iterator[Finding]:
    demo = read_demo(settings.data)
    if demo is None:
        return
    missing = [
        word
        for word, there in (
            ("website", demo.website_id in known.websites),
            ("link", demo.link_id in known.links),
            ("key", known.find_key(demo.api_key, now_ms()) is not None),
        )
        if not there
    ]
    if missing:
        yield Finding(
            subject=str(settings.data / DEMO_FILE),
            problem=f"the registry does not know its {' and its '.join(missing)}",
            meaning="`tidemark demo` and commands without --key do not work; everything else does.",
            remedy=f"delete {DEMO_FILE}; the next tidemark up creates a new demo",
        )


def _unknown_website_findings(
    settings: Settings, known: Snapshot, trail: Sequence[Change]
) -> Iterator[Finding]:
    """Websites with stored rows that the registry does not contain."""
    first = trail[-1] if trail else None
    # Before the audit trail starts, deleted websites look the same as lost ones.
    since = first.at if first and first.action is not Action.RESTORE else 0
    deleted = {change.record_id for change in trail if change.action is Action.DELETE}
    here = known.websites.keys() | known.organizations.keys() | deleted
    day = f"{datetime.now(UTC) - timedelta(days=LOOKBACK_DAYS):%Y-%m-%d}"
    unknown = [
        subject_rows
        for subject_rows in recent_subjects(settings, day)
        if subject_rows.subject_id not in here and subject_rows.last_ms >= since
    ]
    if unknown:
        shown = ", ".join(
            f"{subject_rows.subject_id} ({subject_rows.rows:,} rows)"
            for subject_rows in unknown[:MAX_SHOWN]
        )
        more = f" and {len(unknown) - MAX_SHOWN} more" if len(unknown) > MAX_SHOWN else ""
        yield Finding(
            subject=settings.lake_url,
            problem=f"contains rows of websites that the registry does not know: {shown}{more}",
            meaning="These rows cannot be queried, and requests for these websites are rejected. "
            "If the websites were deleted on purpose, nothing needs to be done.",
            remedy="tidemark websites create --id ID, or tidemark registry restore --replace "
            "--from a backup that has them",
        )


REGISTRY_CHECK = Check(
    "registry",
    "it is intact and backed up, and knows the websites of the lake and the demo",
    find_registry_problems,
    repair_registry,
    of_full_disk=lambda finding: finding.remedy == BACKUP_COMMAND,
)
