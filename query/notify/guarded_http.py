"""GuardedHttp: POST to an address that a user chose, without reaching into private networks.

A name is resolved once, every address of it is checked, and the connection is made to an address
that was checked: a name that means another address a moment later is not asked again. A redirect
is a reply like any other. The HTTP client is loaded with the first request.
"""

import asyncio
import importlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, ip_network
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from schemas.runtime.log_setup import silence
from schemas.runtime.networks import Networks, in_networks, parse_ip

if TYPE_CHECKING:
    import httpx2

POST_SECONDS = 10.0
"""For everything: name, connection, TLS, request and reply."""
CONNECT_SECONDS = 4.0
"""For one address: another one of the name is left some time."""
BODY_SECONDS = 1.0
"""For the body, after the status is there."""
MAX_ADDRESSES = 4
MAX_REPLY_BYTES = 64 * 1024
USER_AGENT = "Tidemark"
VARIABLE = "TIDEMARK_WEBHOOK_NETWORKS"

GLOBAL_UNICAST = ip_network("2000::/3")
SIX_TO_FOUR = ip_network("2002::/16")
NAT64 = ip_network("64:ff9b::/96")

LOOKUPS = ThreadPoolExecutor(8, thread_name_prefix="lookups")
"""Threads of their own: a name whose server does not answer holds one after it was given up."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; OSError, UnicodeError."""


class Reply(Struct, frozen=True):
    """What the server replied: the body up to 64 KiB, as it was sent."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class PostFailed(Exception):
    """There is no reply; the text names the host, and no other part of the address."""

    def __init__(self, problem: str, refused: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.refused = refused
        """Whether it fails again as long as address and settings stay."""


class GuardedHttp:
    """Posts to public addresses, and to those of `networks`. A connection serves one request."""

    def __init__(
        self,
        networks: Networks = (),
        *,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
        seconds: float = POST_SECONDS,
    ) -> None:
        self._networks = networks
        self._resolve = resolve or resolve_host
        self._tls = tls
        self._seconds = seconds
        silence("httpx2")  # it logs URLs, and those of channels are secrets
        silence("httpcore2")

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to a POST; PostFailed."""
        # In a thread, as loading it takes longer than requests should wait.
        await asyncio.to_thread(importlib.import_module, "httpx2")
        import httpx2

        try:
            target = httpx2.URL(url)
            if target.port is not None and not 0 < target.port < 65_536:
                raise httpx2.InvalidURL("port")
        except httpx2.InvalidURL:
            raise PostFailed("the address is not a URL", refused=True) from None
        host = target.raw_host.decode()
        try:
            async with asyncio.timeout(self._seconds):
                addresses = await self._checked_addresses(target.scheme, host, target.port)
                return await self._post_to_one(target, addresses, headers, body)
        except TimeoutError:
            raise PostFailed(f"{host} did not answer within {self._seconds:g} s") from None
        except httpx2.TimeoutException:
            raise PostFailed(f"{host} did not answer in time") from None
        except httpx2.ConnectError as error:
            raise PostFailed(f"{host}: {_connect_problem(error)}") from None
        except (httpx2.HTTPError, UnicodeError, ValueError) as error:
            raise PostFailed(f"{host}: the request failed ({type(error).__name__})") from None

    async def _checked_addresses(self, scheme: str, host: str, port: int | None) -> Sequence[str]:
        """The addresses of the host, if it may be reached by all of them."""
        if scheme not in ("http", "https") or not host:
            raise PostFailed("the address does not begin with https:// and a host", refused=True)
        try:
            addresses = await self._resolve(host, port or (443 if scheme == "https" else 80))
        except (OSError, UnicodeError):
            raise PostFailed(f"{host}: no such name") from None
        for address in addresses:
            if in_networks(address, self._networks):
                continue
            if not is_public(address):
                raise PostFailed(
                    f"{host} has the address of a private network, which only {VARIABLE} permits",
                    refused=True,
                )
            if scheme == "http":
                raise PostFailed(
                    f"{host} is reached by https:// only; {VARIABLE} permits http:// to others",
                    refused=True,
                )
        return addresses[:MAX_ADDRESSES]

    async def _post_to_one(
        self, url: "httpx2.URL", addresses: Sequence[str], headers: Mapping[str, str], body: bytes
    ) -> Reply:
        """Post to the first address that takes a connection."""
        import httpx2

        failure: Exception = httpx2.ConnectError("no address")
        for address in addresses:
            try:
                return await self._post_to(url, address, headers, body)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _post_to(
        self, url: "httpx2.URL", address: str, headers: Mapping[str, str], body: bytes
    ) -> Reply:
        """Post to that very address; `Host`, SNI and the certificate are those of the name.

        In a client of its own: one that keeps connections would know them by address, and send
        requests for one name over the TLS of another.
        """
        import httpx2

        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        transport = httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False)
        timeout = httpx2.Timeout(self._seconds, connect=CONNECT_SECONDS)
        async with httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=False, timeout=timeout
        ) as client:
            request = client.stream(
                "POST",
                url.copy_with(host=address, fragment=None),
                content=body,
                headers={
                    "User-Agent": USER_AGENT,
                    **headers,
                    "Host": url.netloc.decode(),
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                },
                extensions={"sni_hostname": url.raw_host.decode()},
            )
            async with request as response:
                return Reply(
                    status=response.status_code,
                    headers={name.lower(): value for name, value in response.headers.items()},
                    body=await _read_body(response),
                )


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as this machine would connect to them."""
    loop = asyncio.get_running_loop()
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    infos = await loop.run_in_executor(LOOKUPS, look_up)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def is_public(address: str) -> bool:
    """Whether an address belongs to the internet, and the IPv4 address that it may contain."""
    ip = parse_ip(address)  # an IPv4 address that is mapped into IPv6 is one of IPv4 here
    if ip is not None and ip in NAT64:
        ip = IPv4Address(int(ip) & 0xFFFF_FFFF)
    if ip is None or (ip.version == 6 and (ip not in GLOBAL_UNICAST or ip in SIX_TO_FOUR)):
        return False
    return ip.is_global and not ip.is_multicast


async def _read_body(response: Any) -> bytes:
    """The first bytes of a body, not decompressed.

    One that hangs or breaks off ends there: the receiver has replied, and is not asked again.
    """
    import httpx2

    body = bytearray()
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) >= MAX_REPLY_BYTES:
                    break
    return bytes(body[:MAX_REPLY_BYTES])


def _connect_problem(error: BaseException) -> str:
    """Why there is no connection, without addresses."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"certificate not accepted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "no TLS connection"
        cause = cause.__cause__ or cause.__context__
    return "no connection"
