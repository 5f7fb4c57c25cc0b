"""Passwords of people and of shared dashboards: hashed by argon2id (RFC 9106) with a salt each.

Hashes of older releases are scrypt (RFC 7914); they are verified, and never made.
"""

import hashlib
import hmac
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

MIN_LENGTH, MAX_LENGTH = 10, 200
MIN_LOCAL_PART = 4
"""Shorter local parts of e-mail addresses are in too many passwords by chance."""
COMMON_PASSWORDS = """
0123456789 0987654321 1234512345 1234554321 1234567890 12345678910 123456789a 1234567891
123456789q 12345qwert 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx3edc 1qazxsw23edc 9876543210 a123456789
abc1234567 abcd123456 abcdef1234 abcdefghij admin12345 adminadmin administrator asdfghjkl1
asdfghjkl; changeme12 changeme123 changemenow correcthorsebatterystaple football123 iloveyou12
iloveyou123 iloveyou1234 letmein123 letmein1234 p@ssword123 p@ssw0rd123 password01 password11
password12 password123 password1234 password12345 passwordpassword princess123 q1w2e3r4t5
q1w2e3r4t5y6 qazwsxedcrfv qwerty1234 qwerty12345 qwerty123456 qwertyqwerty qwertyuiop
qwertyuiop1 qwertyuiop123 qwertzuiop test123456 testtest12 tidemark123 welcome123 welcome1234
zaq12wsxcde3 zxcvbnm123
"""

DECOY_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$96V1zAYMCciWQbhNID5AOw$"
    "BPQ1g+WpAo9Ewtaa3Mb12guBkMB+X88gb59EFutGO1w"
)
"""Of a password that nobody has: verified for unknown accounts, so that both take equal time."""

_HASHER = PasswordHasher()
_SCRYPT = "scrypt$"
_SCRYPT_COST, _SCRYPT_BLOCK_SIZE, _SCRYPT_PARALLELISM = 2**14, 8, 1


def password_problem(password: str, email: str = "") -> str | None:
    """The rule that a new password breaks, to follow its name; None when it may be used."""
    plain = password.casefold()
    local_part = email.partition("@")[0].casefold()
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return f"must have {MIN_LENGTH} to {MAX_LENGTH} characters"
    if len(set(password)) == 1:
        return "must not be one repeated character"
    if len(local_part) >= MIN_LOCAL_PART and local_part in plain:
        return "must not contain the name of the e-mail address"
    if plain in COMMON_PASSWORDS.split():
        return "is one of the most common passwords; choose another"
    return None


def hash_password(password: str) -> str:
    """The hash with its salt and parameters, as `$argon2id$…`."""
    return _HASHER.hash(_normalized(password))


def password_matches(password: str, hashed: str) -> bool:
    """Whether it is the password of which the hash is."""
    if hashed.startswith(_SCRYPT):
        return _matches_scrypt(password, hashed)
    try:
        return _HASHER.verify(hashed, _normalized(password))
    except VerifyMismatchError:
        return False


def needs_rehash(hashed: str) -> bool:
    """Whether a hash is weaker than new ones: hash the password again once it is at hand."""
    return hashed.startswith(_SCRYPT) or _HASHER.check_needs_rehash(hashed)


def _normalized(password: str) -> str:
    """One text for what keyboards of different systems send for the same characters."""
    return unicodedata.normalize("NFKC", password)


def _matches_scrypt(password: str, hashed: str) -> bool:
    """None has NUL: HMAC, which scrypt is made of, fills a short key up with it."""
    if "\0" in password:
        return False
    _, salt, expected = hashed.split("$")
    actual = hashlib.scrypt(
        password.encode(),
        salt=bytes.fromhex(salt),
        n=_SCRYPT_COST,
        r=_SCRYPT_BLOCK_SIZE,
        p=_SCRYPT_PARALLELISM,
        maxmem=64 * 2**20,
    )
    return hmac.compare_digest(actual.hex(), expected)
