"""How the server of shared rate limits is reached: password and TLS, as the settings say."""

import ssl
from pathlib import Path
from typing import Any

from schemas.runtime.settings import Settings

VARIABLE = "TIDEMARK_LIMITS_"
TLS_SCHEMES = ("rediss://", "valkeys://")


class InvalidLimitsAccess(Exception):
    """The settings contradict each other, or name a file that cannot be used."""


def limits_arguments(settings: Settings) -> dict[str, Any]:
    """Arguments of a Valkey client beside the URL; InvalidLimitsAccess when there can be none.

    With TLS the certificate of the server must be signed by a known authority for the host of the
    URL; the client itself would not compare the host.
    """
    arguments: dict[str, Any] = {}
    if path := settings.limits_password_file:
        arguments["password"] = _password(path)
    if settings.limits_url.startswith(TLS_SCHEMES):
        arguments["ssl_check_hostname"] = True
        if path := settings.limits_ca_file:
            _require_certificates(path)
            arguments["ssl_ca_certs"] = path
    elif settings.limits_ca_file:
        raise InvalidLimitsAccess(
            f"{VARIABLE}CA_FILE is used with TLS only: set {VARIABLE}URL to rediss://host:port"
        )
    return arguments


def _password(path: str) -> str:
    try:
        password = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable("PASSWORD_FILE", path, error) from None
    if not password:
        raise InvalidLimitsAccess(f"{VARIABLE}PASSWORD_FILE={path!r}: the file is empty")
    return password


def _require_certificates(path: str) -> None:
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        raise _unusable("CA_FILE", path, error) from None


def _unusable(name: str, path: str, error: OSError | UnicodeDecodeError) -> InvalidLimitsAccess:
    reason = "it is not UTF-8"
    if isinstance(error, ssl.SSLError):
        reason = f"not the expected PEM file ({error.reason or 'no certificate found'})"
    elif isinstance(error, OSError):
        reason = str(error.strerror)
    return InvalidLimitsAccess(f"{VARIABLE}{name}={path!r}: {reason}")
