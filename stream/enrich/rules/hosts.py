"""Host names in lower case and Punycode; invalid ones become the empty string."""

import re

from schemas.http.host_names import MAX_HOST_LENGTH, to_punycode

_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_ADDRESS_6 = re.compile(r"\[[0-9a-f:.]+\]")


def host_of(authority: str) -> str:
    """The host in `user@host:port`."""
    name = authority.rpartition("@")[2].lower()
    if name.startswith("["):
        address = _ADDRESS_6.match(name)
        return address[0] if address else ""
    name = name.partition(":")[0].removesuffix(".")
    if len(name) > MAX_HOST_LENGTH:
        return ""
    if not name.isascii():
        name = to_punycode(name)
    return name if _NAME.fullmatch(name) else ""
