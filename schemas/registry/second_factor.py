"""The second factor of people who sign in by password: codes of an app, and recovery codes.

The codes are TOTP (RFC 6238): six digits, SHA-1, 30 s. A code of the step before or after is taken
as well, for clocks that differ. The caller stores the step that matched, and refuses a code whose
step is not above it: nobody uses a code twice.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence

import pyotp
import segno
from pyotp.exceptions import OTPVerificationError

STEPS_OFF = 1
RECOVERY_CODES = 10
RECOVERY_CODE_BYTES = 10
"""80 bits: too many to try, so that a hash without salt and cost is enough."""
RECOVERY_CODE_GROUP = 4
QUIET_ZONE_MODULES = 4

_CODE = re.compile(r"[0-9]{6}")
_SEPARATORS = re.compile(r"[\s-]+")


def new_secret() -> str:
    """160 random bits in base32."""
    return pyotp.random_base32()


def enrolment_uri(secret: str, email: str, issuer: str = "Tidemark") -> str:
    """The `otpauth://` address by which an app learns the secret."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def qr_svg(uri: str) -> str:
    """The address as a QR code: an SVG as a data URI."""
    code = segno.make(uri, error="m", micro=False)
    return code.svg_data_uri(border=QUIET_ZONE_MODULES, light="#fff", omitsize=True)


def matching_step(secret: str, code: str, now_ms: int) -> int | None:
    """The step, in 30 s since 1970, whose code it is; None for a wrong or old one.

    No code is that of an empty secret.
    """
    digits = _SEPARATORS.sub("", code)
    if not secret or not _CODE.fullmatch(digits):
        return None
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(
            digits, for_time=now_ms // 1000, valid_window=STEPS_OFF
        )
    except OTPVerificationError:
        return None


def new_recovery_codes() -> tuple[list[str], list[str]]:
    """New codes, as `abcd-efgh-ijkl-mnop`, and their hashes; only the hashes are stored."""
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    return codes, [_recovery_hash(code) for code in codes]


def use_recovery_code(hashes: Sequence[str], text: str) -> list[str] | None:
    """The hashes that remain when the code is used; None if it is none of them.

    All hashes are compared, each in constant time.
    """
    used = _recovery_hash(text)
    remaining = [hashed for hashed in hashes if not hmac.compare_digest(hashed, used)]
    return remaining if len(remaining) < len(hashes) else None


def _new_recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_CODE_BYTES)).decode().lower()
    starts = range(0, len(text), RECOVERY_CODE_GROUP)
    return "-".join(text[start : start + RECOVERY_CODE_GROUP] for start in starts)


def _recovery_hash(text: str) -> str:
    """Of the code however it was typed: with or without dashes, spaces and capitals."""
    return hashlib.sha256(_SEPARATORS.sub("", text).lower().encode()).hexdigest()
