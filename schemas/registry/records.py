"""Registry records. Instants are Unix milliseconds; wire names are camelCase."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

from msgspec import Struct

from schemas.registry.privacy import DEFAULT_PRIVACY, Privacy


class Record(Struct, frozen=True, rename="camel", kw_only=True):
    """What all records have."""

    id: str


class OwnedRecord(Record, frozen=True, rename="camel", kw_only=True):
    """A record that belongs to an organization."""

    organization_id: str


class Organization(Record, frozen=True, rename="camel", kw_only=True):
    """A tenant."""

    name: str
    plan: str = "free"
    limits: dict[str, int] = {}
    """Limits per minute by name, which replace the plan's."""
    keep_days: dict[str, int] = {}
    """Days to keep rows, by table or `all`; see `keep_days.py`."""
    require_second_factor: bool = False
    """Whether people without a second factor get no access."""
    created_at: int
    updated_at: int


class Account(Record, frozen=True, rename="camel", kw_only=True):
    """A person who signs in; what they may do is a matter of their memberships."""

    email: str
    """In lower case; no other account has it."""
    name: str = ""
    password_hash: str | None = None
    """Argon2id; None: signs in by single sign-on only."""
    email_proved: bool = False
    """Whether the person has received mail there, or an identity provider vouched for it."""
    second_factor: bool = False
    """Whether sign-in by password needs a one-time code."""
    totp_secret: str | None = None
    """Sealed; not in use before a code has confirmed it."""
    totp_step: int = 0
    """Time step of the last one-time code, which cannot be used again."""
    recovery_hashes: tuple[str, ...] = ()
    """Of the unused recovery codes."""
    created_at: int
    updated_at: int


class Member(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """A person in an organization, or one who is invited to it; see `people.py`."""

    account_id: str | None = None
    """None: the invitation is not accepted yet."""
    email: str
    name: str = ""
    """As the invitation gave it; the account has the person's own."""
    role: str | None = None
    """In the whole organization; None: on some websites only."""
    website_roles: dict[str, str] = {}
    """Roles by website, which add to that."""
    invitation: str | None = None
    """Id of the token of the invitation link that is valid."""
    invited_by: str = ""
    last_sign_in_at: int | None = None
    created_at: int
    updated_at: int


class Website(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """A website; its id is the client id of its trackers."""

    domain: str
    name: str = ""
    timezone: str = "UTC"
    allowed_origins: tuple[str, ...] = ()
    """Origins from which browsers may send without a key; empty: all."""
    keep_days: dict[str, int] = {}
    """Days to keep rows, by table or `all`, which replace the organization's."""
    contract: dict[str, Any] = {}
    """Event contract, with what is done about events that differ; empty: none. See
    `website_contracts.py`."""
    privacy: Privacy = DEFAULT_PRIVACY
    created_at: int
    updated_at: int


class LinkFieldKind(StrEnum):
    """What an optional field of a link holds."""

    ID = "id"
    INSTANT = "instant"
    TEXT = "text"
    """Text that people see."""
    WEB_URL = "web URL"
    TARGET_URL = "target URL"
    """A URL that may have the scheme of an app."""


class LinkField(Struct, frozen=True):
    """The annotation of an optional field: its column, validation, API members and CLI option."""

    kind: LinkFieldKind
    description: str
    max_length: int = 2048
    indexed: bool = False


class Link(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """A short link."""

    name: str
    target_url: str
    slug: str
    external_id: Annotated[
        str | None,
        LinkField(LinkFieldKind.ID, "Id of the link in your own system.", 255, indexed=True),
    ] = None
    expires_at: Annotated[
        int | None, LinkField(LinkFieldKind.INSTANT, "Expiry time, ISO 8601.")
    ] = None
    expired_redirect_url: Annotated[
        str | None, LinkField(LinkFieldKind.WEB_URL, "Target after the link has expired.")
    ] = None
    ios_url: Annotated[str | None, LinkField(LinkFieldKind.TARGET_URL, "Target on iOS.")] = None
    android_url: Annotated[
        str | None, LinkField(LinkFieldKind.TARGET_URL, "Target on Android.")
    ] = None
    og_title: Annotated[
        str | None, LinkField(LinkFieldKind.TEXT, "Title of link previews.", 200)
    ] = None
    og_description: Annotated[
        str | None, LinkField(LinkFieldKind.TEXT, "Description of link previews.", 500)
    ] = None
    og_image_url: Annotated[
        str | None, LinkField(LinkFieldKind.WEB_URL, "Image of link previews.")
    ] = None
    og_video_url: Annotated[
        str | None, LinkField(LinkFieldKind.WEB_URL, "Video of link previews.")
    ] = None
    created_at: int
    updated_at: int


LINK_FIELDS: Mapping[str, LinkField] = {
    name: annotation
    for name, type_ in get_type_hints(Link, include_extras=True).items()
    for annotation in getattr(type_, "__metadata__", ())
}
"""The optional fields of a link by name."""


class ImportState(StrEnum):
    """State of an import."""

    OPEN = "open"
    """Accepts events."""
    CHECKING = "checking"
    """Its file was uploaded, and is being checked."""
    CHECKED = "checked"
    """Its file waits for the order to import it."""
    IMPORTING = "importing"
    """Accepts events: those of its file are being sent."""
    FAILED = "failed"
    """Accepts no events; its file cannot be imported, or not to its end."""
    DONE = "done"
    """Every line of its file was sent, or history was closed; repeated lines are still accepted."""
    UNDOING = "undoing"
    """Accepts no events; its rows are being deleted."""
    UNDONE = "undone"


class Import(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """Historical events of one file, or of another product's clients; can be undone together."""

    website_id: str
    name: str
    """Name of the file, or of the product with `history`."""
    fingerprint: str = ""
    """Fingerprint of the file, to recognize it."""
    product: str = ""
    """The product whose clients send the events as history; empty: they are those of a file."""
    state: ImportState = ImportState.OPEN
    lines: int = 0
    """Last line of the file that was processed; a resumed import continues after it."""
    accepted: int = 0
    rejected: int = 0
    removed: int = 0
    """Rows that were deleted when the import was undone."""
    upload: dict[str, Any] = {}
    """The name of its uploaded file on the disk, and the result of the check of it."""
    created_at: int
    updated_at: int

    @property
    def accepts_events(self) -> bool:
        """Whether events are accepted."""
        return self.state in (ImportState.OPEN, ImportState.IMPORTING, ImportState.DONE)

    @property
    def can_be_undone(self) -> bool:
        """Whether it is neither undone nor being undone."""
        return self.state not in (ImportState.UNDOING, ImportState.UNDONE)

    def takes_history_of(self, product: str, website_id: str) -> bool:
        """Whether it is open for what clients of this product send as history of a website."""
        of_product = self.product == product and self.website_id == website_id
        return of_product and self.state is ImportState.OPEN


class Selector(StrEnum):
    """What the value of an erasure identifies."""

    VISITOR = "visitor"
    """An anonymous id."""
    PROFILE = "profile"
    """A profile id, with the visitors that were identified with it last."""
    SESSION = "session"
    PROPERTY = "property"
    """The value of a property of events or of a trait of profiles."""
    DEVICE = "device"
    """An anonymous id of an erased profile, of no erasure by itself: rows that name another profile
    stay."""


class ErasureState(StrEnum):
    """State of an erasure."""

    PENDING = "pending"
    """Queries hide its rows; they are being removed from the data files."""
    REWRITTEN = "rewritten"
    """No table has its rows; replaced data files are still on the disk."""
    DONE = "done"
    """Replaced data files are deleted, and the values with them."""
    COUNTING = "counting"
    """A dry run: its rows are being counted, and nothing is hidden or removed."""
    COUNTED = "counted"
    """A dry run that is over."""

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is erased."""
        return self in (ErasureState.COUNTING, ErasureState.COUNTED)


class Erasure(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """Rows of a visitor, profile, session or property value that are removed, and stay away."""

    website_id: str | None = None
    link_id: str | None = None
    """With neither a website nor a link: all websites and links of the organization."""
    selector: Selector
    property_name: str = ""
    value_hashes: tuple[str, ...]
    """Tombstones: keyed hashes of values, after `visitor:` and so on; rows that match are dropped
    for ever. See `tombstones.py`."""
    erased_values: tuple[str, ...] = ()
    """The values themselves, after `visitor:` and so on, by which queries hide rows; empty once
    the rows are gone. Neither the audit trail nor a backup has them."""
    state: ErasureState = ErasureState.PENDING
    report: dict[str, Any] = {}
    """What was removed, and when; see `stream/maintenance/erasure.py`."""
    created_at: int
    updated_at: int


class ReplayState(StrEnum):
    """State of a replay."""

    PLANNING = "planning"
    """A dry run: its items are being tried, and nothing is sent."""
    PLANNED = "planned"
    """A dry run that is over."""
    PENDING = "pending"
    SENDING = "sending"
    """The report is written; items are being sent."""
    SENT = "sent"
    """Kafka has the items; workers store them within seconds."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self in (ReplayState.PLANNED, ReplayState.SENT)


class Replay(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """Items of the quarantine that are repaired and sent again."""

    website_id: str | None = None
    link_id: str | None = None
    days: int
    """Items that were received in the last days."""
    stage: str | None = None
    reason_contains: str | None = None
    position: str | None = None
    """TOPIC/PARTITION/OFFSET/SEQ of a single item."""
    item_changes: tuple[str, ...] = ()
    """Repairs, such as `properties.total = number`; see `schemas/lake/item_changes.py`."""
    state: ReplayState = ReplayState.PENDING
    report: dict[str, Any] = {}
    """Numbers of items; see `stream/recovery/replay_records.py`."""
    planned_items: dict[str, Any] = {}
    """What becomes of the items, with contents of the first; removed after an hour. Neither the
    audit trail nor a backup has it."""
    created_at: int
    updated_at: int


class Deletion(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """A deleted website or organization, which can be restored until its rows are purged.

    The id is that of the deleted record.
    """

    record_kind: str
    """What it was, as in the audit trail."""
    name: str = ""
    subjects: tuple[str, ...] = ()
    """Ids of the websites and links whose rows are purged."""
    records: dict[str, list[dict[str, Any]]] = {}
    """What was deleted, by database table; empty once the purge has begun."""
    purged_at: int | None = None
    """When no table had rows of the subjects any more."""
    created_at: int
    updated_at: int


class Action(StrEnum):
    """Action of an audit trail entry."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESTORE = "restore"
    """Of all records, or of a deleted one."""
    PURGE = "purge"
    """A deleted record can no longer be restored, and its rows are deleted."""
    ACCEPT = "accept"
    """An operator accepted a finding of `tidemark doctor`."""


class Change(Struct, frozen=True, rename="camel", kw_only=True):
    """One entry of the audit trail."""

    number: int
    """Revision of the registry after the change."""
    at: int
    actor: str
    """`key:<id>`, `cli:<user>` or the name of a process."""
    action: Action
    kind: str
    record_id: str
    organization_id: str | None = None
    fields: tuple[str, ...] = ()
    """Names of changed fields; of a finding: what was accepted, and why."""
    website_id: str | None = None
    """The website that was changed, or that the record belongs to."""
    before: dict[str, Any] | None = None
    """Values before an update or a deletion, without secrets; None when they are not recorded."""
    after: dict[str, Any] | None = None
    """Values after a creation or an update."""


class Key(OwnedRecord, frozen=True, rename="camel", kw_only=True):
    """An API key; only the SHA-256 of its secret is stored."""

    website_id: str | None = None
    """Website that the key is restricted to; None: the whole organization."""
    person_id: str | None = None
    """The member that it belongs to, beyond whose roles it does not reach; None: nobody."""
    name: str = ""
    scopes: tuple[str, ...]
    secret_hash: str
    expires_at: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None
    """Exact to an hour; changes do not raise the revision."""
    created_at: int
    updated_at: int

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def scopes_on(self, website_id: str) -> Sequence[str]:  # noqa: ARG002
        """What may be done on a website that it reaches."""
        return self.scopes

    def reaches(self, website_id: str | None) -> bool:
        """Whether a website of its organization, or a record of it, is within its reach."""
        return self.website_id in (None, website_id)

    def narrowed(self, scopes: Sequence[str]) -> "Key | None":
        """The key within the reach of one of these scopes; None when it has none of them."""
        return self if any(map(self.has_scope, scopes)) else None

    def is_active(self, now_ms: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now_ms < self.expires_at)
