"""Registry records. Instants are Unix milliseconds; wire names are camelCase."""

from enum import StrEnum

from msgspec import Struct


class Organization(Struct, frozen=True, rename="camel", kw_only=True):
    """A tenant."""

    id: str
    name: str
    plan: str = "free"
    limits: dict[str, int] = {}
    """Agreed requests per minute by endpoint group, instead of the plan's."""
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
    """From which sites browsers may send without a key; none: from all."""
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
    """This and the next three are what programs are shown that preview links."""
    og_description: str | None = None
    og_image_url: str | None = None
    og_video_url: str | None = None
    created_at: int
    updated_at: int


class ImportState(StrEnum):
    """How far an import is."""

    OPEN = "open"
    """Takes events."""
    DONE = "done"
    """Every line of its file was sent; it still takes what is sent again."""
    UNDOING = "undoing"
    """Takes nothing more; its rows are being removed."""
    UNDONE = "undone"


class Import(Struct, frozen=True, rename="camel", kw_only=True):
    """History that came from a file, under one id by which it can be taken back."""

    id: str
    organization_id: str
    website_id: str
    name: str
    """What the file was called."""
    fingerprint: str = ""
    """Of the file, so that the same one is known again."""
    state: ImportState = ImportState.OPEN
    lines: int = 0
    """The last line of the file that was dealt with: where to go on."""
    accepted: int = 0
    rejected: int = 0
    removed: int = 0
    """Rows that the undoing took out of the table."""
    created_at: int
    updated_at: int

    @property
    def accepts_events(self) -> bool:
        """Whether events may still come."""
        return self.state in (ImportState.OPEN, ImportState.DONE)


class Action(StrEnum):
    """What was done to a record."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESTORE = "restore"
    """To all of them."""
    ACCEPT = "accept"
    """A finding of the doctor, by an operator."""


class Change(Struct, frozen=True, rename="camel", kw_only=True):
    """One line of the audit trail."""

    number: int
    """The revision of the registry that it made."""
    at: int
    actor: str
    """`key:<id>`, `cli:<user>` or a process of ours."""
    action: Action
    kind: str
    record_id: str
    organization_id: str | None = None
    fields: tuple[str, ...] = ()
    """Names of what was changed, values are not kept; of a finding, what was accepted and why."""


class Key(Struct, frozen=True, rename="camel", kw_only=True):
    """An API key; the secret itself is kept nowhere, only its SHA-256."""

    id: str
    organization_id: str
    website_id: str | None = None
    """The one website it reaches; None: the whole organization."""
    name: str = ""
    scopes: tuple[str, ...]
    secret_hash: str
    expires_at: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None
    """To within an hour; followers do not see it change."""
    created_at: int
    updated_at: int

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def is_active(self, now_ms: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now_ms < self.expires_at)
