"""MachinePeers: the collector processes of one machine, over Unix sockets in the data folder.

Each process listens on a socket of its own; the permissions of the folder decide who may connect.
"""

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path

import msgspec

from ingest.peers.messages import (
    MAX_PEERS,
    MAX_REPLY_BYTES,
    REPLY_SECONDS,
    OwnRequests,
    PeerLookup,
    PeerReplies,
    PeerReply,
    decode_lookup,
    decode_reply,
    encode_message,
)
from schemas.runtime.settings import Settings

LENGTH_BYTES = 4
MAX_LOOKUP_BYTES = 64 * 1024
MAX_CONNECTIONS = 64
"""Other processes that are replied to at once."""
OPEN_FOLDERS = Path("/proc/self/fd")
"""The paths of sockets may have 107 bytes; that of an open folder is short."""


def peers_folder(settings: Settings) -> Path:
    """The folder of the sockets on this machine."""
    return settings.data / "run" / "peers"


class MachinePeers:
    """Replies to the other processes of this machine, and asks them."""

    def __init__(self, folder: Path, own: OwnRequests) -> None:
        self._folder = folder
        self._own = own
        self._name = f"{own.process}.sock"
        self._open_folder: int | None = None
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; OSError when the socket cannot be made."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._open_folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self._address(f".{self._name}"))
            listener.listen(MAX_CONNECTIONS)
            # Under this name it is listening: a socket that refuses is one that was left behind.
            (self._folder / f".{self._name}").rename(self._folder / self._name)
            self._server = await asyncio.start_unix_server(self._serve, sock=listener)
        except OSError:
            listener.close()
            raise

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            with suppress(OSError):
                (self._folder / self._name).unlink()
        if self._open_folder is not None:
            os.close(self._open_folder)
            self._open_folder = None

    async def ask(self, lookup: PeerLookup) -> PeerReplies:
        if self._server is None:
            raise OSError("the socket of this process could not be made")
        names = sorted(
            path.name
            for path in self._folder.iterdir()
            if path.suffix == ".sock" and path.name[0] != "." and path.name != self._name
        )
        asked = (self._ask_one(name, lookup) for name in names[:MAX_PEERS])
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        replies, silent = [], max(0, len(names) - MAX_PEERS)
        for outcome in outcomes:
            if isinstance(outcome, PeerReply):
                replies.append(outcome)
            elif isinstance(outcome, OSError | EOFError | msgspec.DecodeError):
                silent += 1
            elif outcome is not None:
                raise outcome
        return PeerReplies(replies, silent)

    async def _ask_one(self, name: str, lookup: PeerLookup) -> PeerReply | None:
        """The reply of one process; None when it is no longer there."""
        async with asyncio.timeout(REPLY_SECONDS):
            try:
                reader, writer = await asyncio.open_unix_connection(self._address(name))
            except (ConnectionRefusedError, FileNotFoundError):
                with suppress(OSError):
                    (self._folder / name).unlink()
                return None
            try:
                _write(writer, encode_message(lookup))
                return decode_reply(await _read(reader, MAX_REPLY_BYTES))
            finally:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                lookup = decode_lookup(await _read(reader, MAX_LOOKUP_BYTES))
                _write(writer, encode_message(self._own.reply(lookup)))
                await writer.drain()
        except (OSError, EOFError, msgspec.DecodeError):  # the other process counts it as silent
            pass
        finally:
            writer.close()

    def _address(self, name: str) -> str:
        """The path of a socket, short enough for the kernel."""
        if OPEN_FOLDERS.exists():
            return f"{OPEN_FOLDERS}/{self._open_folder}/{name}"
        return str(self._folder / name)


def _write(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(len(message).to_bytes(LENGTH_BYTES, "big") + message)


async def _read(reader: asyncio.StreamReader, most: int) -> bytes:
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    if length > most:
        raise OSError(f"a message of {length:,} bytes, more than {most:,}")
    return await reader.readexactly(length)
