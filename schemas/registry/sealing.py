"""Sealed texts: secrets that must be read again, such as those of second factors, are encrypted.

A key for each purpose is derived from one secret (HKDF-SHA256, RFC 5869), so that a text which was
sealed for one purpose is never read for another. The text is a Fernet token: AES-CBC with HMAC.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32


class InvalidSealedText(Exception):
    """The text was changed, or sealed with another secret or for another purpose."""


def seal(text: str, secret: bytes, purpose: str) -> str:
    """The text, encrypted and authenticated; twice the same text is sealed differently."""
    return _fernet(secret, purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, secret: bytes, purpose: str) -> str:
    """The text that was sealed; InvalidSealedText if it cannot be read."""
    try:
        return _fernet(secret, purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise InvalidSealedText(
            f"a sealed text cannot be read for the purpose {purpose!r}"
        ) from None


def _fernet(secret: bytes, purpose: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose.encode())
    return Fernet(base64.urlsafe_b64encode(key.derive(secret)))
