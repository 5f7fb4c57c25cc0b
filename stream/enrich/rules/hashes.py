"""Hashes of ids: the first 63 bits of BLAKE2b, which no engine reads as a negative number."""

from hashlib import blake2b


def hash63(text: str) -> int:
    """First 8 bytes of BLAKE2b, without the lowest bit."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 1


def optional_hash63(text: str | None) -> int | None:
    """The hash of a text; None for None."""
    return None if text is None else hash63(text)


def owner_hash(kind: str, subject_id: str, trusted: bool) -> int:
    """What keeps the event ids of one owner apart from those of others."""
    return hash63(f"{kind}\0{subject_id}" + ("\0key" if trusted else ""))
