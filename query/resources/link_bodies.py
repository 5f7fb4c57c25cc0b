"""The bodies that create and update a link."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

ExternalId = Annotated[str, Meta(max_length=255)]
Instant = str | int | None


class NewLink(Struct, frozen=True, rename="camel"):
    """The body that creates a link."""

    name: str
    target_url: str
    organization_id: str | None = None
    slug: str | None = None
    external_id: ExternalId | None = None
    expires_at: Instant = None
    expired_redirect_url: str | None = None
    ios_url: str | None = None
    android_url: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image_url: str | None = None
    og_video_url: str | None = None


class LinkChanges(Struct, frozen=True, rename="camel"):
    """The body that updates a link: absent fields stay, null clears a field."""

    name: str | UnsetType = UNSET
    target_url: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    external_id: ExternalId | UnsetType | None = UNSET
    expires_at: Instant | UnsetType = UNSET
    expired_redirect_url: str | UnsetType | None = UNSET
    ios_url: str | UnsetType | None = UNSET
    android_url: str | UnsetType | None = UNSET
    og_title: str | UnsetType | None = UNSET
    og_description: str | UnsetType | None = UNSET
    og_image_url: str | UnsetType | None = UNSET
    og_video_url: str | UnsetType | None = UNSET
