"""Host names in lower case and Punycode; invalid ones become the empty string."""

import re
from unicodedata import normalize

MAX_HOST_LENGTH = 253
"""Longest name in DNS."""
MAX_NON_ASCII = 59
"""Most non-ASCII letters of a name: more than real names have, and few enough to encode in half a
millisecond, where 250 letters take forty."""

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


def to_punycode(name: str) -> str:
    """An internationalized host name as browsers send it: `müller.de` → `xn--mller-kva.de`.

    Empty when it has more non-ASCII letters than real names.
    """
    flat = normalize("NFKC", name).lower().replace("。", ".")
    if len(flat) > MAX_HOST_LENGTH or sum(letter > "\x7f" for letter in flat) > MAX_NON_ASCII:
        return ""
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode()
        for label in flat.split(".")
    )
