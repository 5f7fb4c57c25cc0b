"""Privacy of a website: what the collector and the stream leave out of its items.

A request with a refused signal is counted without ids, or dropped and only counted. Items of a
website that requires consent have ids only with `"consent": true`. Named properties and query
parameters never reach Kafka; e-mail addresses, tokens and card numbers never reach a file.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from schemas.errors import Malformed

MAX_NAMES = 100
"""Names and patterns of one list."""
NAME_PATTERN = re.compile(r"[^\s&=?#\x00-\x1f\x7f]{1,128}")

DO_NOT_TRACK = "do_not_track"
GLOBAL_PRIVACY_CONTROL = "global_privacy_control"
NO_CONSENT = "no_consent"
DROP_REASONS = (DO_NOT_TRACK, GLOBAL_PRIVACY_CONTROL, NO_CONSENT)
"""Why the collector dropped items, as the ledger has it."""

Signal = Literal["ignore", "anonymous", "drop"]
Names = Annotated[list[str], Meta(max_length=MAX_NAMES)]


class Privacy(Struct, frozen=True, rename="camel"):
    """What is left out of the items of a website."""

    do_not_track: Signal = "ignore"
    """Requests with the header `DNT: 1`."""
    global_privacy_control: Signal = "ignore"
    """Requests with the header `Sec-GPC: 1`."""
    consent: Literal["not_required", "required"] = "not_required"
    """Whether items keep ids only with `"consent": true`."""
    location: Literal["truncated", "none"] = "truncated"
    """Whether places are looked up by the truncated address, or not at all."""
    never_store_properties: tuple[str, ...] = ()
    """Names of members of `properties` and `traits`, with `*` for any text."""
    never_store_query: tuple[str, ...] = ()
    """Names of query parameters of URLs, with `*` for any text."""
    mask_texts: bool = True
    """Whether e-mail addresses, tokens and card numbers are replaced in errors and URLs."""


DEFAULT_PRIVACY = Privacy()


def parse_privacy(value: Mapping[str, Any]) -> Privacy:
    """The privacy of a website from the registry; the default is one object."""
    privacy = msgspec.convert(value, Privacy)
    return DEFAULT_PRIVACY if privacy == DEFAULT_PRIVACY else privacy


class PrivacyChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Members of a website's privacy: absent ones stay, a list replaces the other."""

    do_not_track: (
        Annotated[Signal, Meta(description="what requests with the header DNT: 1 are")] | UnsetType
    ) = UNSET
    global_privacy_control: (
        Annotated[Signal, Meta(description="what requests with the header Sec-GPC: 1 are")]
        | UnsetType
    ) = UNSET
    consent: (
        Annotated[
            Literal["not_required", "required"],
            Meta(description='required: items without "consent": true keep no ids'),
        ]
        | UnsetType
    ) = UNSET
    location: (
        Annotated[
            Literal["truncated", "none"],
            Meta(description="whether places are looked up, by the address cut to /24 or /48"),
        ]
        | UnsetType
    ) = UNSET
    never_store_properties: (
        Annotated[Names, Meta(description="members of properties and traits; * is any text")]
        | UnsetType
    ) = UNSET
    never_store_query: (
        Annotated[Names, Meta(description="query parameters of URLs; * is any text")] | UnsetType
    ) = UNSET
    mask_texts: (
        Annotated[
            bool,
            Meta(description="replace e-mail addresses, tokens and card numbers in errors, URLs"),
        ]
        | UnsetType
    ) = UNSET

    def values(self) -> dict[str, Any]:
        """The validated members that are given."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return validate_privacy({k: v for k, v in given.items() if v is not UNSET})


def validate_privacy(values: Mapping[str, Any]) -> dict[str, Any]:
    """Members of the right type, with their lists of names checked; Malformed."""
    lists = {"never_store_properties", "never_store_query"}
    return {
        name: _validate_names(name, value) if name in lists else value
        for name, value in values.items()
    }


def _validate_names(field: str, names: Sequence[str]) -> tuple[str, ...]:
    wire_name = msgspec.structs.fields(Privacy)[Privacy.__struct_fields__.index(field)].encode_name
    for name in names:
        if not NAME_PATTERN.fullmatch(name):
            raise Malformed(
                f"'privacy.{wire_name}' has '{name[:40]}'; a name has 1 to 128 characters, and no "
                "space, '&', '=', '?' or '#'"
            )
    if len(names) > MAX_NAMES:
        raise Malformed(f"'privacy.{wire_name}' may have at most {MAX_NAMES} names")
    return tuple(dict.fromkeys(names))


@cache
def names_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Matches the names, with `*` for any text, in upper or lower case."""
    texts = map(_pattern_text, names)
    return re.compile("|".join(texts) or r"(?!)", re.IGNORECASE | re.DOTALL)


def _pattern_text(name: str) -> str:
    """As a shell matches: what a `*` took is not tried again, or a few would take for ever."""
    first, *others = map(re.escape, name.split("*"))
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>.*?{part})" for part in middle if part) + f".*{last}"
