"""All records at one revision, and the changes since an earlier one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, structs

from schemas.registry.database import CHANGES, REVISION
from schemas.registry.record_mapping import kind_name, read_all, read_by_ids
from schemas.registry.records import (
    Account,
    Deletion,
    Erasure,
    Import,
    Key,
    Link,
    Member,
    Organization,
    Record,
    Replay,
    Website,
)
from schemas.registry.saved_records import (
    SAVED_RECORDS,
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    MoneyProperty,
    PathGroup,
    Report,
    SavedRecord,
    Segment,
    Share,
    Shield,
)

MAX_CHANGES = 1_000
"""With more changes than this all records are read instead."""


class RegistryVersion(Struct, frozen=True):
    """Identifies a state of a registry: revisions of two incarnations are not comparable."""

    incarnation: str
    revision: int


class Contents(Struct, frozen=True):
    """All records at one revision."""

    stamp: RegistryVersion
    organizations: Sequence[Organization]
    websites: Sequence[Website]
    links: Sequence[Link]
    keys: Sequence[Key]
    imports: Sequence[Import] = ()
    receipt_secret: str = ""
    """Secret that signs receipts, in hex; empty in backups of older versions."""
    goals: Sequence[Goal] = ()
    segments: Sequence[Segment] = ()
    annotations: Sequence[Annotation] = ()
    money: Sequence[MoneyProperty] = ()
    shares: Sequence[Share] = ()
    funnels: Sequence[Funnel] = ()
    aliases: Sequence[Alias] = ()
    explorations: Sequence[Exploration] = ()
    channels: Sequence[Channel] = ()
    alerts: Sequence[Alert] = ()
    boards: Sequence[Board] = ()
    reports: Sequence[Report] = ()
    error_statuses: Sequence[ErrorStatus] = ()
    path_groups: Sequence[PathGroup] = ()
    shields: Sequence[Shield] = ()
    accounts: Sequence[Account] = ()
    members: Sequence[Member] = ()
    erasures: Sequence[Erasure] = ()
    replays: Sequence[Replay] = ()
    deletions: Sequence[Deletion] = ()

    def without_personal_data(self) -> "Contents":
        """The same without values of pending erasures, items of replays and lines of uploads.

        A backup outlasts them.
        """
        return structs.replace(
            self,
            erasures=[structs.replace(erasure, erased_values=()) for erasure in self.erasures],
            imports=[structs.replace(import_, upload={}) for import_ in self.imports],
            replays=[structs.replace(replay, planned_items={}) for replay in self.replays],
            deletions=[_without_personal_data(deletion) for deletion in self.deletions],
        )

    def by_kind(self) -> Sequence[tuple[type[Record], Sequence[Record]]]:
        """All records by class, owners first."""
        return [(kind, getattr(self, name)) for name, kind in CONTENTS_KINDS.items()]

    def saved_records(self) -> Iterator[SavedRecord]:
        """Saved records of all kinds."""
        for kind in SAVED_RECORDS:
            yield from getattr(self, kind.plural)


def _without_personal_data(deletion: Deletion) -> Deletion:
    """The deletion with the erasures of what was deleted, but without their values."""
    if not (erasures := deletion.records.get("erasures")):
        return deletion
    without = [{**erasure, "erased_values": []} for erasure in erasures]
    return structs.replace(deletion, records={**deletion.records, "erasures": without})


CONTENTS_KINDS: Mapping[str, type[Record]] = {
    "organizations": Organization,
    "accounts": Account,
    "websites": Website,
    "links": Link,
    "members": Member,
    "keys": Key,
    "imports": Import,
    **{kind.plural: kind for kind in SAVED_RECORDS},
    "erasures": Erasure,
    "replays": Replay,
    "deletions": Deletion,
}
"""Record classes by the member of Contents, owners first."""


class ChangesSince(Struct, frozen=True):
    """Changes since an earlier revision: changed records, and ids of deleted ones."""

    changed: Contents
    """Created and updated records only."""
    deleted_ids: Mapping[str, Sequence[str]]
    """By kind name."""


def read_version(connection: sa.Connection) -> RegistryVersion:
    """The current version."""
    row = connection.execute(sa.select(REVISION.c.incarnation, REVISION.c.number)).one()
    return RegistryVersion(str(row.incarnation), int(row.number))


def read_contents(connection: sa.Connection) -> Contents:
    """All records."""
    return _contents(
        read_version(connection),
        lambda kind: read_all(connection, kind),
        str(connection.execute(sa.select(REVISION.c.receipt_secret)).scalar_one()),
    )


def _contents(
    stamp: RegistryVersion, read: Callable[[type[Record]], Sequence[Record]], secret: str = ""
) -> Contents:
    """The records that `read` returns for each class."""
    records: dict[str, Any] = {name: read(kind) for name, kind in CONTENTS_KINDS.items()}
    return Contents(stamp=stamp, receipt_secret=secret, **records)


def read_changes_since(connection: sa.Connection, version: RegistryVersion) -> ChangesSince | None:
    """Changes by the audit trail; None when the trail is incomplete.

    It is after a restore, when older changes were pruned, or when an older version wrote.
    """
    stamp = read_version(connection)
    written = stamp.revision - version.revision
    if stamp.incarnation != version.incarnation or not 0 <= written <= MAX_CHANGES:
        return None
    query = sa.select(CHANGES.c.kind, CHANGES.c.record_id).where(
        CHANGES.c.number > version.revision
    )
    rows = connection.execute(query).all()
    if len(rows) != written:
        return None
    touched: dict[str, set[str]] = {}
    for kind, record_id in rows:
        touched.setdefault(str(kind), set()).add(str(record_id))
    now = _contents(
        stamp, lambda kind: read_by_ids(connection, kind, touched.get(kind_name(kind), ()))
    )
    for kind, records in now.by_kind():
        touched.get(kind_name(kind), set()).difference_update(record.id for record in records)
    return ChangesSince(now, {name: tuple(ids) for name, ids in touched.items() if ids})
