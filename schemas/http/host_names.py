"""Internationalized host names in Punycode, as browsers and DNS need them."""

from unicodedata import normalize

MAX_HOST_LENGTH = 253
"""Longest name in DNS."""
MAX_NON_ASCII = 59
"""Most non-ASCII letters of a name: more than real names have, and few enough to encode in half a
millisecond, where 250 letters take forty."""


def to_punycode(name: str) -> str:
    """An internationalized host name as browsers send it: `müller.de` → `xn--mller-kva.de`.

    Empty when it is longer, or has more non-ASCII letters, than real names.
    """
    if len(name) > MAX_HOST_LENGTH:
        return ""
    flat = normalize("NFKC", name).lower().replace("。", ".")
    if len(flat) > MAX_HOST_LENGTH or sum(letter > "\x7f" for letter in flat) > MAX_NON_ASCII:
        return ""
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode()
        for label in flat.split(".")
    )
