"""Secrets of channels: address and token are sealed, and so is what signs requests of a webhook.

Whoever has the address of a chat channel can write to it, so no response shows it again. The key
is derived from the secret of sign-ins, which no backup has: after a restore into another registry
channels are created anew.
"""

import base64
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from schemas.registry.saved_records import Channel
from schemas.registry.sealing import seal, unseal

PURPOSE = "channel"
TELEGRAM_ADDRESS = "https://api.telegram.org"
SIGNING_PREFIX, SIGNING_BYTES = "whsec_", 32
"""Of Standard Webhooks: a signing secret is `whsec_` and base64."""


def seal_channel_fields(given: Mapping[str, Any], secret: bytes) -> dict[str, Any]:
    """Fields as the record has them, with the host of a given address."""
    sealed = dict(given)
    if given.get("kind") == "telegram" and not given.get("address"):
        sealed["address"] = TELEGRAM_ADDRESS
    if address := sealed.get("address"):
        sealed["host"] = _host(address)
    for name in Channel.sealed:
        if sealed.get(name) is not None:
            sealed[name] = seal(sealed[name], secret, PURPOSE)
    return sealed


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # the address is refused when its channel is validated
        return ""


def with_signing_secret(channel: Channel, secret: bytes) -> tuple[Channel, str]:
    """The channel with a new signing secret, and its text."""
    text = SIGNING_PREFIX + base64.b64encode(secrets.token_bytes(SIGNING_BYTES)).decode()
    return structs.replace(channel, signing_secret=seal(text, secret, PURPOSE)), text


def open_channel_field(sealed: str | None, secret: bytes) -> str:
    """The text of a sealed field, empty for none; InvalidSealedText."""
    return unseal(sealed, secret, PURPOSE) if sealed else ""
