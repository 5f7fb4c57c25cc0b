"""Connections to the registry: TLS, passwords in files, and errors that show neither."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from schemas.registry.database import create_engine
from tests.postgresql import PASSWORD, PostgreSQL
from tests.tls_proxy import Certificates, TlsProxy


def connect(url: str) -> object:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return connection.execute(sa.text("SELECT 1")).scalar()
    finally:
        engine.dispose()


def test_errors_never_show_the_password_of_the_database() -> None:
    for url in ("postgresql://u:hidden@word@h:x/d", "postgresql:/u:hidden@h/d", "u:hidden@h"):
        with pytest.raises(sa.exc.ArgumentError) as error:
            create_engine(url)
        assert "hidden" not in str(error.value)
        assert error.value.__cause__ is None


def test_a_wrong_password_is_not_shown(postgresql: PostgreSQL) -> None:
    with pytest.raises(sa.exc.OperationalError) as error:
        connect(postgresql.url("postgres", password="hidden"))

    assert "password authentication failed" in str(error.value)
    assert "hidden" not in str(error.value)


def test_a_server_without_tls_is_refused_where_tls_is_required(postgresql: PostgreSQL) -> None:
    with pytest.raises(sa.exc.OperationalError, match="does not support SSL"):
        connect(postgresql.url("postgres", "?sslmode=require"))


def test_an_unknown_tls_mode_is_named(postgresql: PostgreSQL) -> None:
    with pytest.raises(sa.exc.OperationalError, match=r'invalid "?sslmode"? value: "sometimes"'):
        connect(postgresql.url("postgres", "?sslmode=sometimes"))


def test_the_certificate_of_the_server_is_verified(postgresql: PostgreSQL, tmp_path: Path) -> None:
    ours, others = Certificates(tmp_path / "ours"), Certificates(tmp_path / "others")
    with TlsProxy(postgresql.port, ours, asked=True) as proxy:
        url = postgresql.url("postgres", "?sslmode=verify-full&sslrootcert=")
        secured = url.replace(f":{postgresql.port}/", f":{proxy.port}/")

        assert connect(secured + str(ours.authority_file)) == 1
        with pytest.raises(sa.exc.OperationalError, match="certificate verify failed"):
            connect(secured + str(others.authority_file))


def test_the_password_may_be_in_a_file(postgresql: PostgreSQL, tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    escaped = PASSWORD.replace(":", "\\:")
    file.write_text(f"127.0.0.1:{postgresql.port}:*:tidemark:{escaped}\n")
    file.chmod(0o600)

    url = f"postgresql://tidemark@127.0.0.1:{postgresql.port}/postgres?passfile={file}"

    assert connect(url) == 1
