"""Checks of the registry: it is whole, its backup is of now, the lake and the demo fit it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from deploy.demo.registry_records import DEMO, read_demo
from deploy.local.doctor.check import Check, NotLooked, Scope
from deploy.local.registry_startup import bring_back, has_traces, lost, reason
from schemas.registry import Backups, DatabaseError, Snapshot, Store
from schemas.registry.backups import BackupDamaged, back_up, read
from schemas.registry.database import file_of
from schemas.registry.migrate import level_of, newest_level
from schemas.registry.records import Action, Change
from schemas.registry.restore import fault_of
from schemas.runtime.clock import iso, now_ms
from schemas.runtime.finding import Finding
from schemas.runtime.settings import PREFIX, Settings
from stream.recovery.recent_subjects import stored_of_websites

RESTORE = "tidemark registry restore"
BACK_UP = "tidemark registry backup"
LATE_MS = 60_000
"""Age of a change at which its backup is overdue: the keeper writes one within seconds."""
SHOWN = 5
EVERY = 1_000_000
DAYS = 35
"""How far back stored rows are looked for."""


def wrong_registry(scope: Scope) -> Iterator[Finding]:
    """Whether it is there and whole; what can be looked at only then is looked at then."""
    settings, backups = scope.settings, Backups.of(scope.settings)
    subject = str(file_of(settings.registry_url) or f"{PREFIX}REGISTRY")
    try:
        if fault_of(settings.registry_url) and not has_traces(settings, backups):
            raise NotLooked("there is no registry yet: `tidemark up` makes it")
        if fault := lost(settings, backups):
            yield _lost(subject, fault, backups)
            return
        yield from _broken_pages(settings, subject)
        if finding := _other_level(settings, subject):
            yield finding
            return
        with closing(Store(settings.registry_url)) as store:
            yield from _late_backup(store, backups)
            known = Snapshot.read(store)
            yield from _unfitting_demo(settings, known)
            yield from _unknown_websites(settings, known, store.changes(EVERY))
    except (DatabaseError, ImportError) as away:
        yield Finding(
            subject=subject,
            problem=f"it cannot be opened: {reason(away)}",
            meaning="Services go on with what they have in memory; links and imports cannot be "
            "written, and no key or website can be added.",
            remedy=f"mend what the message names; {PREFIX}REGISTRY says which database it is",
        )


def mend(scope: Scope, finding: Finding) -> str | None:
    """Bring a lost registry back by the rule of `tidemark up`; write a backup that is overdue."""
    settings, backups = scope.settings, Backups.of(scope.settings)
    if finding.remedy == BACK_UP:
        with closing(Store(settings.registry_url)) as store:
            written = back_up(store, backups, now_ms())
        return f"{finding.subject}: a backup was written: {written}" if written else None
    newest = backups.newest() if finding.remedy == RESTORE and not settings.registry else None
    if newest is None:
        return None
    bring_back(settings, backups, newest)
    return f"{finding.subject}: restored from {newest.path}"


def _lost(subject: str, fault: str, backups: Backups) -> Finding:
    newest = backups.newest()
    return Finding(
        subject=subject,
        problem=f"the registry is lost: {fault}",
        meaning="Services that run go on with what they have in memory, and change nothing in it. "
        + ("A start restores it by itself." if newest else "A start is refused until it is back."),
        remedy=RESTORE if newest else "put a copy of your own back, or tidemark registry new",
    )


def _broken_pages(settings: Settings, subject: str) -> Iterator[Finding]:
    """The thorough look that a start has no time for."""
    path = file_of(settings.registry_url)
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
            remedy=f"{RESTORE} --replace",
        )


def _other_level(settings: Settings, subject: str) -> Finding | None:
    level, newest = level_of(settings.registry_url), newest_level()
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


def _late_backup(store: Store, backups: Backups) -> Iterator[Finding]:
    head, now = backups.newest_head(), now_ms()
    changed = next(iter(store.changes(1)), None)
    since = changed.at if changed else 0
    if store.stamp().revision and (head is None or head.stamp != store.stamp()):
        if now - since > LATE_MS:
            yield Finding(
                subject=str(backups.folder),
                problem=f"the newest backup is of {iso(head.taken_ms)}"
                if head
                else "there is no backup of the registry",
                meaning="What was changed since is lost if the registry is; the keeper writes "
                "one within seconds, so it does not run or cannot write there.",
                remedy=BACK_UP,
            )
    elif head is not None:
        yield from _damaged_backup(backups)


def _damaged_backup(backups: Backups) -> Iterator[Finding]:
    try:
        for path in backups.paths()[:1]:
            read(path)
    except (BackupDamaged, OSError) as damaged:
        yield Finding(
            subject=str(backups.folder),
            problem=f"the newest backup cannot be used: {damaged}",
            meaning="The registry would come back as the one before has it.",
            remedy=f"remove that file, then {BACK_UP}",
        )


def _unfitting_demo(settings: Settings, known: Snapshot) -> Iterator[Finding]:
    demo = read_demo(settings.data)
    if demo is None:
        return
    absent = [
        word
        for word, there in (
            ("website", demo.website_id in known.websites),
            ("link", demo.link_id in known.links),
            ("key", known.key(demo.api_key, now_ms()) is not None),
        )
        if not there
    ]
    if absent:
        yield Finding(
            subject=str(settings.data / DEMO),
            problem=f"the registry does not know its {' and its '.join(absent)}",
            meaning="`tidemark demo` and commands without --key do not work; all else does.",
            remedy=f"remove {DEMO}: the next tidemark up makes a new demo",
        )


def _unknown_websites(
    settings: Settings, known: Snapshot, trail: Sequence[Change]
) -> Iterator[Finding]:
    """Websites whose rows were stored under this registry or one before it, and are not known."""
    first = trail[-1] if trail else None
    # What was deleted before the trail began is not told apart from what was lost.
    since = first.at if first and first.action is not Action.RESTORE else 0
    deleted = {change.record_id for change in trail if change.action is Action.DELETE}
    here = known.websites.keys() | known.organizations.keys() | deleted
    day = f"{datetime.now(UTC) - timedelta(days=DAYS):%Y-%m-%d}"
    unknown = [
        one
        for one in stored_of_websites(settings, day)
        if one.subject_id not in here and one.last_ms >= since
    ]
    if unknown:
        shown = ", ".join(f"{one.subject_id} ({one.rows:,} rows)" for one in unknown[:SHOWN])
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        yield Finding(
            subject=settings.lake_url,
            problem=f"rows of websites that the registry does not know: {shown}{more}",
            meaning="Nobody can ask for these rows, and what is sent for these websites is refused "
            "and lost. If they were deleted on purpose, all is well.",
            remedy="tidemark websites create --id ID, or tidemark registry restore --replace "
            "--from a backup that has them",
        )


REGISTRY = Check(
    "registry",
    "it is whole and backed up, and the lake and the demo fit it",
    wrong_registry,
    mend,
    of_full_disk=lambda finding: finding.remedy == BACK_UP,
)
