"""What commands share: the data folder that they need."""

from pathlib import Path

import pytest

from tests.deploy.cli.command_result import Run


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "summary"),
        ("debug",),
        ("export", "events"),
        ("snippet", "web_1"),
        ("websites", "list"),
        ("organizations", "create", "--name", "Acme"),
        ("quickstart", "shop.example"),
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
