"""What commands share: the data folder that they need."""

import stat
from pathlib import Path

import pytest

from deploy.cli import main
from tests.deploy.cli.command_result import Run


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "summary"),
        ("debug",),
        ("export", "events"),
        ("snippet", "web_1"),
        ("websites", "list"),
        ("organizations", "list"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_without_a_data_folder_says_so_and_creates_nothing(
    run: Run, command: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"

    done = run(*command, TIDEMARK_DATA_DIR=str(folder))

    assert done.code == 1
    assert done.err == (
        f"tidemark: no data folder here ({folder}); nothing has been started; "
        "set TIDEMARK_DATA_DIR or run `make run`\n"
    )
    assert not folder.exists()


CREATING = [
    ("organizations", "create", "--name", "Acme"),
    ("quickstart", "shop.example"),
]


@pytest.mark.parametrize("command", CREATING, ids=lambda command: command[0])
def test_first_records_create_the_data_folder_that_the_variable_names(
    run: Run, command: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "data"

    done = run(*command, TIDEMARK_DATA_DIR=str(folder))

    assert (done.code, done.err) == (0, "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "org_" in run("organizations", "list", TIDEMARK_DATA_DIR=str(folder)).out


@pytest.mark.parametrize("command", CREATING, ids=lambda command: command[0])
def test_first_records_do_not_create_the_default_data_folder(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEMARK_DATA_DIR", raising=False)

    with pytest.raises(SystemExit, match="1"):
        main(command)

    assert list(tmp_path.iterdir()) == []
