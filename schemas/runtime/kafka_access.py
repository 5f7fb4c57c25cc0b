"""The arguments with which every client of Kafka connects: addresses, TLS and login."""

import ssl
from pathlib import Path
from typing import Any

from schemas.runtime.settings import Settings

VARIABLE = "TIDEMARK_KAFKA_"


class InvalidKafkaAccess(OSError):
    """The settings of TLS or login do not fit together, or a file cannot be used.

    An OSError, since a file may disappear while a process runs: that is an outage, as any other.
    """


def client_arguments(settings: Settings) -> dict[str, Any]:
    """The arguments of an aiokafka client; InvalidKafkaAccess names the variable and the rule."""
    protocol = settings.kafka_security_protocol
    arguments: dict[str, Any] = {
        "bootstrap_servers": settings.brokers,
        "security_protocol": protocol,
    }
    _require_used_settings(settings)
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = _tls_context(settings)
    if protocol.startswith("SASL"):
        arguments["sasl_mechanism"] = settings.kafka_sasl_mechanism
        arguments["sasl_plain_username"] = settings.kafka_username
        arguments["sasl_plain_password"] = _password(settings)
    return arguments


def _require_used_settings(settings: Settings) -> None:
    """A login or certificate that is not used would let traffic be open without notice."""
    protocol = settings.kafka_security_protocol
    if protocol != "PLAINTEXT" and not settings.kafka:
        raise InvalidKafkaAccess(
            f"{VARIABLE}SECURITY_PROTOCOL={protocol} needs a Kafka of your own: set TIDEMARK_KAFKA"
        )
    if not protocol.startswith("SASL"):
        _refuse(settings, ("username", "password_file"), "SASL_SSL")
    if not protocol.endswith("SSL"):
        _refuse(settings, ("ca_file", "certificate_file", "key_file"), "SSL or SASL_SSL")
    if settings.kafka_key_file and not settings.kafka_certificate_file:
        raise InvalidKafkaAccess(f"{VARIABLE}KEY_FILE needs {VARIABLE}CERTIFICATE_FILE")


def _refuse(settings: Settings, names: tuple[str, ...], protocol: str) -> None:
    for name in names:
        if getattr(settings, f"kafka_{name}"):
            raise InvalidKafkaAccess(
                f"{VARIABLE}{name.upper()} is not used with {VARIABLE}SECURITY_PROTOCOL="
                f"{settings.kafka_security_protocol}: set that to {protocol}"
            )


def _password(settings: Settings) -> str:
    for name in ("username", "password_file"):
        if not getattr(settings, f"kafka_{name}"):
            raise InvalidKafkaAccess(
                f"{VARIABLE}{name.upper()} is not set, and "
                f"{VARIABLE}SECURITY_PROTOCOL={settings.kafka_security_protocol} needs it"
            )
    path = settings.kafka_password_file
    try:
        password = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable("password_file", path, error) from None
    if not password:
        raise InvalidKafkaAccess(f"{VARIABLE}PASSWORD_FILE={path!r}: the file is empty")
    return password


def _tls_context(settings: Settings) -> ssl.SSLContext:
    authorities = settings.kafka_ca_file
    try:
        context = ssl.create_default_context(cafile=authorities or None)
    except OSError as error:
        raise _unusable("ca_file", authorities, error) from None
    if certificate := settings.kafka_certificate_file:
        key = settings.kafka_key_file
        try:
            # An empty password, so that OpenSSL does not ask for one on the terminal.
            context.load_cert_chain(certificate, key or None, password="")
        except (OSError, ValueError) as error:
            name, path = ("key_file", key) if key else ("certificate_file", certificate)
            raise _unusable(name, path, error) from None
    return context


def _unusable(name: str, path: str, error: Exception) -> InvalidKafkaAccess:
    reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else None
    if isinstance(error, ssl.SSLError):
        reason = f"not the expected PEM file ({error.reason or 'no certificate found'})"
    elif isinstance(error, OSError):
        reason = error.strerror
    return InvalidKafkaAccess(f"{VARIABLE}{name.upper()}={path!r}: {reason or error}")
