"""How mail is sent: server, TLS, login and sender, as the settings say."""

import ssl
from email.errors import ObsoleteHeaderDefect
from email.headerregistry import Address
from email.policy import SMTP
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from schemas.runtime.settings import Settings

VARIABLE = "TIDEMARK_SMTP_"
SUBMISSION_PORT, TLS_PORT = 587, 465
SENDER_RULE = "must be like 'Tidemark <stats@shop.example>' or stats@shop.example"


class InvalidMailAccess(Exception):
    """The settings contradict each other, or name a file that cannot be used."""


class MailServer(Struct, frozen=True):
    """A server that takes mail, and the sender in whose name it does."""

    host: str
    port: int
    sender: Address
    tls: ssl.SSLContext | None
    """Certificates to trust; None: no TLS."""
    starts_with_tls: bool
    """TLS from the first byte (`smtps://`); otherwise by STARTTLS, before the login."""
    username: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"MailServer({self.host}:{self.port})"


def mail_server(settings: Settings) -> MailServer | None:
    """The server of the settings, None if they have none; InvalidMailAccess names the variable.

    Mail is sent over TLS: from the first byte (`smtps://`), or by STARTTLS (`smtp://`). Without TLS
    are only mails to this machine that has no certificate, and what `smtp_plain` allows.
    """
    if not settings.smtp_url:
        return None
    url = urlsplit(settings.smtp_url)
    host, starts_with_tls = url.hostname or "", url.scheme == "smtps"
    _require_agreement(settings, url)
    plain = settings.smtp_plain or (_is_this_machine(host) and not settings.smtp_ca_file)
    return MailServer(
        host=host,
        port=url.port or (TLS_PORT if starts_with_tls else SUBMISSION_PORT),
        sender=_sender(settings.mail_from),
        tls=None if plain and not starts_with_tls else _tls_context(settings.smtp_ca_file),
        starts_with_tls=starts_with_tls,
        username=_decoded(url.username),
        password=_password(settings) or _decoded(url.password),
    )


def _require_agreement(settings: Settings, url: SplitResult) -> None:
    """A login that is not protected or not used is an error, not a surprise."""
    if settings.smtp_plain and url.scheme == "smtps":
        raise InvalidMailAccess(f"{VARIABLE}PLAIN is not used with smtps://: remove it")
    if settings.smtp_plain and settings.smtp_ca_file:
        raise InvalidMailAccess(f"{VARIABLE}CA_FILE needs TLS: remove it, or {VARIABLE}PLAIN")
    if settings.smtp_plain and url.username and not _is_this_machine(url.hostname or ""):
        raise InvalidMailAccess(
            f"{VARIABLE}URL has a user name, and a login needs TLS: remove {VARIABLE}PLAIN"
        )
    if settings.smtp_password_file and not url.username:
        raise InvalidMailAccess(
            f"{VARIABLE}PASSWORD_FILE needs a user name: set {VARIABLE}URL to smtp://user@host"
        )


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text else None


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def single_address(text: str) -> Address | None:
    """The one address that a header `From` or `To` with this text has; None if it has another."""
    try:
        header = SMTP.header_factory("to", text)
    except (IndexError, AttributeError):  # as the parser of CPython 3.11 fails on `ann@` or `a@[`
        return None
    broken = [d for d in header.defects if not isinstance(d, ObsoleteHeaderDefect)]
    addresses: list[Address] = [a for a in header.addresses if a.username and a.domain]
    if broken or len(addresses) != 1 or len(header.addresses) != 1:
        return None
    return addresses[0]


def _sender(text: str) -> Address:
    if not text:
        raise InvalidMailAccess(
            f"TIDEMARK_MAIL_FROM is not set, and mail needs it: it {SENDER_RULE}"
        )
    sender = single_address(text)
    if sender is None or not sender.addr_spec.isascii():
        raise InvalidMailAccess(f"TIDEMARK_MAIL_FROM={text!r} {SENDER_RULE}")
    return sender


def _password(settings: Settings) -> str | None:
    if not (path := settings.smtp_password_file):
        return None
    try:
        password = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable("PASSWORD_FILE", path, error) from None
    if not password:
        raise InvalidMailAccess(f"{VARIABLE}PASSWORD_FILE={path!r}: the file is empty")
    return password


def _tls_context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise _unusable("CA_FILE", ca_file, error) from None


def _unusable(name: str, path: str, error: OSError | UnicodeDecodeError) -> InvalidMailAccess:
    reason = "it is not UTF-8"
    if isinstance(error, ssl.SSLError):
        reason = f"not the expected PEM file ({error.reason or 'no certificate found'})"
    elif isinstance(error, OSError):
        reason = str(error.strerror)
    return InvalidMailAccess(f"{VARIABLE}{name}={path!r}: {reason}")
