"""Passwords of shared dashboards: hashed by scrypt (RFC 7914) with a salt of their own."""

import hashlib
import hmac
import secrets

SALT_BYTES = 16
COST, BLOCK_SIZE, PARALLELISM = 2**14, 8, 1
"""16 MiB and some 50 ms for one attempt."""


def hash_password(password: str) -> str:
    """`scrypt$<salt>$<hash>`, in hex."""
    salt = secrets.token_bytes(SALT_BYTES)
    return f"scrypt${salt.hex()}${_hash(password, salt).hex()}"


def password_matches(password: str, hashed: str) -> bool:
    """Whether it is the password of which the hash is.

    None has NUL: HMAC, which scrypt is made of, fills a short key up with it.
    """
    if "\0" in password:
        return False
    _, salt, expected = hashed.split("$")
    return hmac.compare_digest(_hash(password, bytes.fromhex(salt)).hex(), expected)


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=COST, r=BLOCK_SIZE, p=PARALLELISM, maxmem=64 * 2**20
    )
