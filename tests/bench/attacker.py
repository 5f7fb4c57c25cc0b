"""Attacker process: connections that open in one way and never end.

`python -m tests.bench.attacker PORT NAME WEBSITE SECONDS` prints how many bytes it got rid of, and
how many connections it opened for that.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

PIECE = 64 * 1024
TIMEOUT_SECONDS = 0.5


class Attack(Struct, frozen=True, kw_only=True):
    """Bytes that each connection sends: `opening` once, then `more` repeatedly."""

    opening: Callable[[str], bytes]
    """Authorized by the website's id, which is public."""
    more: bytes = b""
    connections: int = 4
    pause_seconds: float = 0.0
    reads: bool = True
    """Whether the answers are read."""


def _post(path: str, head: str, body: bytes) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\n{head}\r\n".encode() + body


def _whole(path: str, body: bytes, times: int = 1) -> bytes:
    return _post(path, f"Content-Length: {len(body)}\r\n", body) * times


def _chunked(body: bytes) -> Callable[[str], bytes]:
    head = "Transfer-Encoding: chunked\r\n"
    return lambda site: _post(f"/track?website_id={site}", head, body)


HEADER = b"x-n: " + b"v" * 1015 + b"\r\n"
LARGE_ITEM = json.dumps([{"name": "a", "properties": {"k": "v" * 62_000}}] * 16).encode()
BAD_ITEMS = b"[" + b",".join([b'{"name":1}'] * 500) + b"]"
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"

EVERYWHERE: Mapping[str, Attack] = {
    "heads without end": Attack(opening=lambda _: b"GET / HTTP/1.1\r\n", more=HEADER * 64),
    "trailers without end": Attack(opening=_chunked(b"2\r\n[]\r\n0\r\n"), more=HEADER * 64),
    "chunk extensions without end": Attack(opening=_chunked(b"2;a="), more=b"v" * PIECE),
    "300 heads in dribbles": Attack(
        opening=lambda _: b"GET / HTTP/1.1\r\n", more=b"x", connections=300, pause_seconds=0.5
    ),
    "no HTTP at all": Attack(opening=lambda _: b"\x16\x03\x01 rubbish\r\n\r\n", connections=8),
    "upgrades to what is not there": Attack(
        opening=lambda _: f"GET / HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n".encode() * 50, connections=8
    ),
}
"""Attacks on any HTTP service."""

ON_COLLECTOR: Mapping[str, Attack] = {
    **EVERYWHERE,
    "bodies of bad items": Attack(
        opening=lambda site: _whole(f"/track?website_id={site}", BAD_ITEMS, 20)
    ),
    "items of 62 KB": Attack(
        opening=lambda site: _whole(f"/track?website_id={site}", LARGE_ITEM, 4), connections=1
    ),
    "requests that nobody reads the answers of": Attack(
        opening=lambda site: _whole(f"/track?website_id={site}", b"[]", 2_000), reads=False
    ),
}

ON_QUERY = EVERYWHERE


class AttackSender:
    """The connections of an attack."""

    def __init__(self, port: int, attack: Attack, website: str, until: float) -> None:
        self.sent = self.opened = 0
        self._port = port
        self._attack = attack
        self._opening = attack.opening(website)
        self._until = until

    def run(self) -> None:
        """Send on so many threads until the time is over."""
        threads = [threading.Thread(target=self._again) for _ in range(self._attack.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _again(self) -> None:
        while time.monotonic() < self._until:
            try:
                self._connection()
            except OSError:
                time.sleep(0.005)  # closed on us, as it should be

    def _connection(self) -> None:
        attack = self._attack
        with socket.create_connection(("127.0.0.1", self._port), TIMEOUT_SECONDS) as connection:
            self.opened += 1
            self._send(connection, self._opening)
            while attack.more and time.monotonic() < self._until:
                self._send(connection, attack.more)
                time.sleep(attack.pause_seconds)
            if attack.reads:
                while connection.recv(PIECE):
                    continue
            else:
                time.sleep(max(0.0, self._until - time.monotonic()))

    def _send(self, connection: socket.socket, data: bytes) -> None:
        connection.sendall(data)
        self.sent += len(data)


if __name__ == "__main__":
    port, name, website, seconds = sys.argv[1:]
    sender = AttackSender(
        int(port), ON_COLLECTOR[name], website, time.monotonic() + min(60.0, float(seconds))
    )
    sender.run()
    print(json.dumps({"sent": sender.sent, "opened": sender.opened}))
