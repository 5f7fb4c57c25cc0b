"""PrivacyFilter: leaves out of the items of a request what the privacy of their website names.

Items lose their ids, or are dropped and only counted, by a header of the request or without
consent. Named properties and the values of named query parameters are removed from their JSON.
E-mail addresses, tokens and card numbers are masked by the stream, where texts repeat.
"""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from ingest.decoding.request_head import RequestHead
from schemas.items import Item
from schemas.registry.item_privacy import without_ids, without_names
from schemas.registry.privacy import (
    DEFAULT_PRIVACY,
    DO_NOT_TRACK,
    GLOBAL_PRIVACY_CONTROL,
    NO_CONSENT,
    Privacy,
    Signal,
)
from schemas.tables.events import CustomEvent
from schemas.tables.identities import Identity


class PrivacyFilter(Struct, frozen=True, gc=False):
    """What the privacy of one website does to the items of one request."""

    privacy: Privacy
    signal: Signal = "ignore"
    """How the website answers the headers of the request."""
    reason: str = ""
    """The drop reason of that signal."""

    @classmethod
    def of(cls, privacy: Privacy, head: RequestHead) -> Self:
        """The filter of a request; a drop wins over counting without ids."""
        answers: list[tuple[Signal, str]] = []
        if head.do_not_track:
            answers.append((privacy.do_not_track, DO_NOT_TRACK))
        if head.global_privacy_control:
            answers.append((privacy.global_privacy_control, GLOBAL_PRIVACY_CONTROL))
        for strictest in ("drop", "anonymous"):
            for signal, reason in answers:
                if signal == strictest:
                    return cls(privacy, signal, reason)
        return cls(privacy)

    @property
    def leaves_all(self) -> bool:
        """Whether no item can be changed or dropped."""
        privacy = self.privacy
        return not (
            self.signal != "ignore"
            or privacy.consent == "required"
            or privacy.never_store_properties
            or privacy.never_store_query
        )

    def drop_reason(self, item: Item) -> str:
        """Why an item is dropped; empty when it is stored."""
        if self.signal == "drop":
            return self.reason
        if isinstance(item, Identity) and self.is_anonymous(item):
            return self.reason or NO_CONSENT  # an identity consists of ids
        return ""

    def is_anonymous(self, item: Item) -> bool:
        """Whether an item keeps no ids."""
        return self.signal != "ignore" or (
            self.privacy.consent == "required" and item.consent is not True
        )

    def filtered(self, item: Item, text: bytes) -> bytes:
        """The JSON of an item without what is left out; the item itself loses its ids as well."""
        if self.is_anonymous(item):
            item.anonymous_id = item.session_id = None
            if isinstance(item, CustomEvent):
                item.profile_id = None
            text = without_ids(text, type(item))
        return without_names(text, self.privacy)


def privacy_filter(privacy: Privacy, head: RequestHead) -> PrivacyFilter | None:
    """The filter of a request; None when nothing can be left out of its items."""
    if privacy is DEFAULT_PRIVACY:
        return None
    of_request = PrivacyFilter.of(privacy, head)
    return None if of_request.leaves_all else of_request


def import_filter(privacy: Privacy) -> PrivacyFilter | None:
    """The filter of historical events, which need no consent: their importer is responsible."""
    of_history = PrivacyFilter(replace(privacy, consent="not_required"))
    return None if of_history.leaves_all else of_history
