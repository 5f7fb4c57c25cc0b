"""Processes of one machine ask each other, whatever was left behind by killed ones."""

import asyncio
import socket
from pathlib import Path

import pytest

from ingest.peers import machine_peers
from ingest.peers.machine_peers import MachinePeers
from ingest.peers.messages import OwnRequests, PeerLookup, PeerReplies
from ingest.publishing.recent_requests import RecentRequest, RecentRequests

LOOKUP = PeerLookup("shop")


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests name sockets by their short names: the path of one may have 107 bytes."""
    monkeypatch.chdir(tmp_path)


def an_event(name: str) -> RecentRequest:
    return RecentRequest(0, "events", 1, name.encode(), "r")


def peers_in(folder: Path, **names_by_website: str) -> MachinePeers:
    """A process that has received one event of each of these websites."""
    recent = RecentRequests()
    for website, name in names_by_website.items():
        recent.add(website, an_event(name))
    return MachinePeers(folder, OwnRequests(recent))


def test_a_process_replies_with_the_requests_of_one_website(tmp_path: Path) -> None:
    async def ask() -> None:
        one, other = peers_in(tmp_path), peers_in(tmp_path, shop="a", blog="b")
        await one.start()
        await other.start()
        [reply] = (await one.ask(LOOKUP)).replies
        assert [request.envelope for request in reply.requests] == [b"a"]
        again = await one.ask(PeerLookup("shop", {reply.process: reply.last}))
        assert [each.requests for each in again.replies] == [[]]

        await other.close()
        assert await one.ask(LOOKUP) == PeerReplies([])
        await one.close()

    asyncio.run(ask())
    assert [*tmp_path.iterdir()] == []


def test_a_socket_that_was_left_behind_is_deleted(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind("1-dead.sock")
    left.close()

    async def ask() -> None:
        peers = peers_in(tmp_path)
        await peers.start()
        assert await peers.ask(LOOKUP) == PeerReplies([])
        assert not (tmp_path / "1-dead.sock").exists()
        await peers.close()

    asyncio.run(ask())


def test_a_process_that_does_not_reply_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_peers, "REPLY_SECONDS", 0.2)

    async def ask(listener: socket.socket) -> None:
        peers, other = peers_in(tmp_path), peers_in(tmp_path, shop="a")
        await peers.start()
        await other.start()
        listener.bind("1-stopped.sock")
        listener.listen()
        replies = await peers.ask(LOOKUP)
        assert (len(replies.replies), replies.silent) == (1, 1)
        await peers.close()
        await other.close()

    with socket.socket(socket.AF_UNIX) as listener:
        asyncio.run(ask(listener))


@pytest.mark.parametrize("sent", [b"\0\0\0\x03abc", b"\xff\xff\xff\xff", b"\0\0", b""])
def test_what_is_no_message_ends_the_connection_only(tmp_path: Path, sent: bytes) -> None:
    async def ask() -> None:
        one, other = peers_in(tmp_path), peers_in(tmp_path, shop="a")
        await one.start()
        await other.start()
        for path in await asyncio.to_thread(sorted, tmp_path.iterdir()):  # noqa: ASYNC240
            reader, writer = await asyncio.open_unix_connection(path.name)
            writer.write(sent)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        assert len((await one.ask(LOOKUP)).replies) == 1
        await one.close()
        await other.close()

    asyncio.run(ask())


def test_the_path_of_the_data_folder_may_be_long(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 100) / "run" / "peers"

    async def ask() -> int:
        one, other = peers_in(folder), peers_in(folder)
        await one.start()
        await other.start()
        replied = len((await one.ask(LOOKUP)).replies)
        await one.close()
        await other.close()
        return replied

    assert asyncio.run(ask()) == 1


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    peers = peers_in(tmp_path / "run" / "peers")

    async def ask() -> None:
        with pytest.raises(OSError, match="Not a directory"):
            await peers.start()
        with pytest.raises(OSError, match="could not be made"):
            await peers.ask(LOOKUP)
        await peers.close()

    asyncio.run(ask())
