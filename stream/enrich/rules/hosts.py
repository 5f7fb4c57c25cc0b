"""Hosts as the name system has them: lower case and ASCII; what is no host is the empty string."""

import re
from unicodedata import normalize

MAX_HOST_LENGTH = 253
"""The longest name that the name system knows."""
MAX_NON_ASCII = 59
"""Letters beyond ASCII in a name: more than real names have, and few enough to be written in ASCII
in half a millisecond, where 250 of them take forty."""

_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_ADDRESS_6 = re.compile(r"\[[0-9a-f:.]+\]")


def host_of(authority: str) -> str:
    """The host in `user@host:port`."""
    name = authority.rpartition("@")[2].lower()
    if name.startswith("["):
        found = _ADDRESS_6.match(name)
        return found[0] if found else ""
    name = name.partition(":")[0].removesuffix(".")
    if len(name) > MAX_HOST_LENGTH:
        return ""
    if not name.isascii():
        name = to_punycode(name)
    return name if _NAME.fullmatch(name) else ""


def to_punycode(name: str) -> str:
    """A host with letters of the world, as browsers send it: `müller.de` → `xn--mller-kva.de`.

    Empty when it has more of them than any name.
    """
    flat = normalize("NFKC", name).lower().replace("。", ".")
    if len(flat) > MAX_HOST_LENGTH or sum(letter > "\x7f" for letter in flat) > MAX_NON_ASCII:
        return ""
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode()
        for label in flat.split(".")
    )
