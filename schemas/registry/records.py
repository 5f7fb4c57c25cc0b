"""Registry records. Instants are Unix milliseconds; wire names are camelCase."""

from enum import StrEnum

from msgspec import Struct


class Organization(Struct, frozen=True, rename="camel", kw_only=True):
    """A tenant."""

    id: str
    name: str
    plan: str = "free"
    limits: dict[str, int] = {}
    """Limits per minute by name, which replace the plan's."""
    created_at: int
    updated_at: int


class Website(Struct, frozen=True, rename="camel", kw_only=True):
    """A website; its id is the client id of its trackers."""

    id: str
    organization_id: str
    domain: str
    name: str = ""
    timezone: str = "UTC"
    allowed_origins: tuple[str, ...] = ()
    """Origins from which browsers may send without a key; empty: all."""
    created_at: int
    updated_at: int


class Link(Struct, frozen=True, rename="camel", kw_only=True):
    """A short link."""

    id: str
    organization_id: str
    name: str
    target_url: str
    slug: str
    external_id: str | None = None
    expires_at: int | None = None
    expired_redirect_url: str | None = None
    ios_url: str | None = None
    android_url: str | None = None
    og_title: str | None = None
    """This and the next three are for link previews."""
    og_description: str | None = None
    og_image_url: str | None = None
    og_video_url: str | None = None
    created_at: int
    updated_at: int


class ImportState(StrEnum):
    """State of an import."""

    OPEN = "open"
    """Accepts events."""
    DONE = "done"
    """Every line of its file was sent; repeated events are still accepted."""
    UNDOING = "undoing"
    """Accepts no events; its rows are being deleted."""
    UNDONE = "undone"


class Import(Struct, frozen=True, rename="camel", kw_only=True):
    """Historical events of one file, which can be undone together."""

    id: str
    organization_id: str
    website_id: str
    name: str
    """Name of the file."""
    fingerprint: str = ""
    """Fingerprint of the file, to recognize it."""
    state: ImportState = ImportState.OPEN
    lines: int = 0
    """Last line of the file that was processed; a resumed import continues after it."""
    accepted: int = 0
    rejected: int = 0
    removed: int = 0
    """Rows that were deleted when the import was undone."""
    created_at: int
    updated_at: int

    @property
    def accepts_events(self) -> bool:
        """Whether events are accepted."""
        return self.state in (ImportState.OPEN, ImportState.DONE)


class Action(StrEnum):
    """Action of an audit trail entry."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESTORE = "restore"
    """Of all records."""
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
    """Names of changed fields, without values; of a finding: what was accepted, and why."""


class Key(Struct, frozen=True, rename="camel", kw_only=True):
    """An API key; only the SHA-256 of its secret is stored."""

    id: str
    organization_id: str
    website_id: str | None = None
    """Website that the key is restricted to; None: the whole organization."""
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

    def is_active(self, now_ms: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now_ms < self.expires_at)
