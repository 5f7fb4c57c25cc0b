"""Access to the server of shared rate limits: what cannot work is refused by name."""

from pathlib import Path

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.limits_access import limits_arguments
from schemas.runtime.settings import Settings
from tests.tls_proxy import Certificates


def test_password_and_authorities_are_those_of_the_files(tmp_path: Path) -> None:
    authority = Certificates(tmp_path).authority_file
    password = tmp_path / "password"
    password.write_text("secret\n")

    secured = Settings(
        limits_url="rediss://limits.example",
        limits_password_file=str(password),
        limits_ca_file=str(authority),
    )

    assert limits_arguments(secured) == {
        "password": "secret",
        "ssl_check_hostname": True,
        "ssl_ca_certs": str(authority),
    }
    assert limits_arguments(Settings(limits_url="redis://limits.example")) == {}


def test_what_cannot_work_is_refused_at_the_start(tmp_path: Path) -> None:
    text = tmp_path / "text.pem"
    text.write_text("no certificate\n")

    def refusal(url: str, ca_file: Path) -> str:
        with pytest.raises(InvalidSetting) as raised:
            load_settings({"TIDEMARK_LIMITS_URL": url, "TIDEMARK_LIMITS_CA_FILE": str(ca_file)})
        return str(raised.value)

    assert refusal("rediss://h:1", tmp_path / "none") == (
        f"TIDEMARK_LIMITS_CA_FILE='{tmp_path}/none': No such file or directory"
    )
    assert "not the expected PEM file" in refusal("valkeys://h:1", text)
    assert "set TIDEMARK_LIMITS_URL to rediss://" in refusal("redis://h:1", text)
