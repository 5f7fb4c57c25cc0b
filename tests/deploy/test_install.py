"""The installer of lock files, from a folder of packages that pip is configured for."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from deploy.locks import install
from deploy.locks.install import uv_variables

WHEEL = "lamp-1.0-py3-none-any.whl"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock file of one package, which only lies in the folder `packages`."""
    packages = tmp_path / "packages"
    packages.mkdir()
    with ZipFile(packages / WHEEL, "w") as wheel:
        wheel.writestr("lamp.py", "LIGHT = 1\n")
        about = "lamp-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: lamp\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", f"lamp.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n")
    checksum = hashlib.sha256((packages / WHEEL).read_bytes()).hexdigest()
    path = tmp_path / "lamp.txt"
    path.write_text(f"lamp==1.0 --hash=sha256:{checksum}\n")
    return path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The interpreter of an environment of its own; pip finds packages in one folder only."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "packages"))
    return str(tmp_path / "env" / "bin" / "python")


def light(environment: str) -> str:
    command = [environment, "-c", "import lamp; print(lamp.LIGHT)"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_uv_installs_from_where_pip_would(
    lock: Path, environment: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert install.UV.exists()

    assert install.install(environment, str(lock)) == 0

    assert light(environment) == "1\n"
    assert capfd.readouterr().err == ""  # else pip has installed it


def test_pip_installs_where_there_is_no_uv(
    lock: Path, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "UV", tmp_path / "no-uv")

    assert install.install(environment, str(lock)) == 0

    assert light(environment) == "1\n"


def test_a_package_with_another_checksum_is_refused(lock: Path, environment: str) -> None:
    with ZipFile(lock.with_name("packages") / WHEEL, "a") as wheel:
        wheel.writestr("more.py", "")

    assert install.install(environment, str(lock)) != 0

    assert light(environment) == ""


def test_settings_of_pip_become_variables_of_uv() -> None:
    settings = (
        ":env:.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'\n"
        ":env:.disable-pip-version-check='1'\n"
        "global.index-url='https://all.example/simple'\n"
        "global.find-links='one two'\n"
        "install.index-url='https://install.example/simple'\n"
        "global.proxy='http://proxy.example:8080'\n"
    )

    assert uv_variables(settings) == {
        "UV_DEFAULT_INDEX": "https://install.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS": "one,two",
        "HTTP_PROXY": "http://proxy.example:8080",
        "HTTPS_PROXY": "http://proxy.example:8080",
    }


def test_pip_installs_when_it_has_settings_that_uv_has_not() -> None:
    assert uv_variables(":env:.only-binary=':all:'\n") is None
