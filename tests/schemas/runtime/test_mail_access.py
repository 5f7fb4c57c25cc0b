"""Access to the mail server: TLS unless it is this machine, and refusals by name."""

from pathlib import Path

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.mail_access import MailServer, mail_server
from schemas.runtime.settings import Settings
from tests.tls_proxy import Certificates

SENDER = "Tidemark <stats@shop.example>"


def server(url: str, **others: str | bool) -> MailServer:
    found = mail_server(Settings(**{"smtp_url": url, "mail_from": SENDER, **others}))  # type: ignore[arg-type] # fields of several types
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("url", "host", "port", "starts_with_tls", "username", "password"),
    [
        ("smtp://mail.example", "mail.example", 587, False, None, None),
        ("smtps://mail.example", "mail.example", 465, True, None, None),
        ("smtp://user@mail.example:25", "mail.example", 25, False, "user", None),
        ("smtps://a%40b:p%2Fw@mail.example", "mail.example", 465, True, "a@b", "p/w"),
        ("smtp://a@b.example:pw@[2001:db8::1]:26", "2001:db8::1", 26, False, "a@b.example", "pw"),
    ],
)
def test_a_url_has_server_and_login(
    url: str, host: str, port: int, starts_with_tls: bool, username: str, password: str
) -> None:
    parsed = server(url)

    assert (parsed.host, parsed.port, parsed.starts_with_tls) == (host, port, starts_with_tls)
    assert (parsed.username, parsed.password) == (username, password)
    assert parsed.tls is not None
    assert str(parsed.sender) == SENDER
    assert repr(parsed) == f"MailServer({host}:{port})"


def test_the_password_is_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")

    assert server("smtp://user@mail.example", smtp_password_file=str(file)).password == "secret"


def test_only_mail_to_this_machine_has_no_tls_by_itself(tmp_path: Path) -> None:
    authority = str(Certificates(tmp_path).authority_file)

    for host in ("localhost", "127.0.0.1", "127.8.0.1", "[::1]"):
        assert server(f"smtp://user@{host}").tls is None
        assert server(f"smtp://user@{host}", smtp_ca_file=authority).tls is not None
        assert server(f"smtps://user@{host}").tls is not None
    assert server("smtp://mail", smtp_plain=True).tls is None


def test_without_a_url_there_is_no_mail() -> None:
    assert mail_server(Settings(mail_from=SENDER)) is None


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"MAIL_FROM": ""}, "TIDEMARK_MAIL_FROM is not set, and mail needs it: it must be like"),
        ({"MAIL_FROM": "stats"}, "TIDEMARK_MAIL_FROM='stats' must be like 'Tidemark <stats@"),
        ({"MAIL_FROM": "a@b.example, c@d.example"}, "must be like"),
        ({"MAIL_FROM": "a@b.example\nBcc: c@d.example"}, "must be like"),
        ({"MAIL_FROM": "a@b.example nonsense"}, "must be like"),
        ({"SMTP_URL": "mail.example:25"}, "must be like smtp://user@mail.example:587 or smtps://"),
        ({"SMTP_URL": "http://mail.example"}, "must be like smtp://"),
        ({"SMTP_URL": "smtp://u:S3CRET@mail.example/in"}, "must be like smtp://"),
        ({"SMTP_URL": "smtp://u:S3CRET@mail.example:x"}, "must have a host, and a port"),
        ({"SMTP_PLAIN": "1", "SMTP_URL": "smtps://h"}, "_SMTP_PLAIN is not used with smtps://"),
        ({"SMTP_PLAIN": "1", "SMTP_CA_FILE": "ca.pem"}, "_SMTP_CA_FILE needs TLS: remove it"),
        ({"SMTP_PLAIN": "1", "SMTP_URL": "smtp://u:S3CRET@h"}, "a login needs TLS: remove"),
        ({"SMTP_PASSWORD_FILE": "p"}, "_SMTP_PASSWORD_FILE needs a user name: set TIDEMARK_SMTP"),
        (
            {"SMTP_PASSWORD_FILE": "/nope", "SMTP_URL": "smtp://u@h"},
            "TIDEMARK_SMTP_PASSWORD_FILE='/nope': No such file or directory",
        ),
        (
            {"SMTP_PASSWORD_FILE": "/dev/null", "SMTP_URL": "smtp://u@h"},
            "TIDEMARK_SMTP_PASSWORD_FILE='/dev/null': the file is empty",
        ),
        ({"SMTP_CA_FILE": "/nope"}, "TIDEMARK_SMTP_CA_FILE='/nope': No such file or directory"),
        ({"SMTP_CA_FILE": "/dev/null"}, "not the expected PEM file"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(variables: dict[str, str], reason: str) -> None:
    values = {"SMTP_URL": "smtp://mail.example", "MAIL_FROM": SENDER, **variables}

    with pytest.raises(InvalidSetting) as raised:
        load_settings({f"TIDEMARK_{name}": value for name, value in values.items()})

    assert reason in str(raised.value)
    assert "S3CRET" not in str(raised.value)


def test_a_name_with_a_period_is_a_sender() -> None:
    sender = server("smtp://mail.example", mail_from="Shop Inc. <stats@shop.example>").sender

    assert (sender.display_name, sender.addr_spec) == ("Shop Inc.", "stats@shop.example")
