"""ServerPeers: the collector processes of all machines, over the server of the shared limits.

A lookup is published on a channel that each process subscribes to, and replied to on the channel of
the process that asks. The server keeps nothing, and says how many processes it gave the lookup to.
"""

import asyncio
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import msgspec
from msgspec import Struct

from ingest.peers.messages import (
    MAX_PEERS,
    MAX_REPLY_BYTES,
    REPLY_SECONDS,
    OwnRequests,
    PeerLookup,
    PeerReplies,
    PeerReply,
    encode_message,
)
from schemas.http.limit_counts import ANSWER_SECONDS, CONNECT_SECONDS, server_address
from schemas.runtime.limits_access import limits_arguments
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

LOOKUPS = b"tidemark:debug"
RECONNECT_SECONDS = 1.0
KEEPALIVE: Mapping[int, int] = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
}
"""A server whose machine is gone is noticed within half a minute, also by who never asks."""


class SentLookup(Struct, frozen=True):
    """A lookup on the common channel."""

    number: int
    reply_to: bytes
    lookup: PeerLookup


class SentReply(Struct, frozen=True):
    """A reply on the channel of the process that asked."""

    number: int
    reply: PeerReply


_decode_lookup = msgspec.msgpack.Decoder(SentLookup).decode
_decode_reply = msgspec.msgpack.Decoder(SentReply).decode


class ServerPeers:
    """Replies to the processes of all machines, and asks them; `run` keeps it subscribed."""

    def __init__(self, url: str, own: OwnRequests, **options: Any) -> None:
        from valkey.asyncio import Valkey  # slow to load, and only needed with a server

        self.address = server_address(url)
        self._own = own
        self._replies = LOOKUPS + b":" + own.process.encode()
        timeout: dict[str, Any] = {"socket_connect_timeout": CONNECT_SECONDS}
        self._client = Valkey.from_url(url, **timeout, socket_timeout=ANSWER_SECONDS, **options)
        self._subscriber = Valkey.from_url(
            url,
            **timeout,
            socket_timeout=None,  # its default ends a subscription without messages after 5 s
            socket_keepalive=True,
            socket_keepalive_options=KEEPALIVE,
            **options,
        )
        self._is_subscribed = False
        self._number = 0
        self._waiting: dict[int, asyncio.Queue[PeerReply]] = {}

    @classmethod
    def for_settings(cls, settings: Settings, own: OwnRequests) -> Self | None:
        """None without a server in the settings."""
        if not settings.limits_url:
            return None
        return cls(settings.limits_url, own, **limits_arguments(settings))

    async def run(self) -> None:
        """Receive lookups and replies until it is cancelled."""
        from valkey.exceptions import ValkeyError

        while True:
            try:
                await self._receive()
            except (OSError, ValkeyError) as error:
                if self._is_subscribed:
                    log.warning(
                        "recent requests not shared",
                        extra={"server": self.address, "reason": str(error)},
                    )
            self._is_subscribed = False
            await asyncio.sleep(RECONNECT_SECONDS)

    async def close(self) -> None:
        for client in (self._client, self._subscriber):
            await client.aclose()

    async def ask(self, lookup: PeerLookup) -> PeerReplies:
        if not self._is_subscribed:
            raise OSError("not connected")
        self._number += 1
        number = self._number
        received = self._waiting[number] = asyncio.Queue(MAX_PEERS)
        replies: list[PeerReply] = []
        try:
            sent = encode_message(SentLookup(number, self._replies, lookup))
            expected = await self._publish(LOOKUPS, sent) - 1  # itself
            with suppress(TimeoutError):
                async with asyncio.timeout(REPLY_SECONDS):
                    while len(replies) < min(expected, MAX_PEERS):
                        replies.append(await received.get())
        finally:
            del self._waiting[number]
        return PeerReplies(replies, max(0, expected - len(replies)))

    async def _receive(self) -> None:
        async with self._subscriber.pubsub() as channels:
            await channels.subscribe(LOOKUPS, self._replies)
            async for message in channels.listen():
                if message["type"] == "subscribe":
                    self._is_subscribed = message["channel"] == self._replies
                elif message["channel"] == LOOKUPS:
                    with suppress(msgspec.DecodeError, OSError):
                        await self._reply_to(_decode_lookup(message["data"]))
                else:
                    with suppress(msgspec.DecodeError):
                        self._take(message["data"])

    async def _reply_to(self, sent: SentLookup) -> None:
        if sent.reply_to != self._replies:
            reply = SentReply(sent.number, self._own.reply(sent.lookup))
            await self._publish(sent.reply_to, encode_message(reply))

    def _take(self, message: bytes) -> None:
        if len(message) > MAX_REPLY_BYTES:
            return
        sent = _decode_reply(message)
        received = self._waiting.get(sent.number)
        if received is not None and not received.full():
            received.put_nowait(sent.reply)

    async def _publish(self, channel: bytes, message: bytes) -> int:
        """The number of processes that receive the message; OSError without the server."""
        from valkey.exceptions import ValkeyError

        try:
            return int(await self._client.publish(channel, message))
        except ValkeyError as error:
            raise OSError(str(error) or repr(error)) from error
