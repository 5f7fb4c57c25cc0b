"""All commands: error messages of one line, help texts, status."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from deploy.cli import COMMANDS, tidemark
from tests.deploy.cli.command_result import Done, Run
from tests.installation import free_port

HEAVY_PACKAGES = {"duckdb", "pyarrow", "faust", "sqlalchemy", "aiokafka", "numpy", "deltalake"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("organizations", "create", "--name", "x", "--plan", "gold"),
            "Invalid value for '--plan': 'gold' is not one of 'free', 'pro', 'scale', "
            "'enterprise'.",
        ),
        (
            ("organizations", "create", "--name", "x", "--limit", "query=many"),
            "Invalid value for '--limit': 'query=many' is not GROUP=N, such as query=500",
        ),
        (
            ("organizations", "create", "--name", "x", "--limit", "storage=5"),
            "'limits' has 'storage'; groups are collect, query, custom, links, records, redirects, "
            "public, collect_mib, collect_items",
        ),
        (
            ("websites", "create", "--organization", "nobody", "--domain", "shop.example"),
            "--organization: no organization 'nobody'",
        ),
        (
            ("links", "create", "--organization", "o", "--name", "n", "--target-url", "http://x"),
            "--organization: no organization 'o'",
        ),
        (
            ("keys", "create", "--organization", "o", "--scope", "read:data"),
            "--organization: no organization 'o'",
        ),
        (
            ("reenrich", "--from", "2026-11-21", "--to", "2026-11-20"),
            "--to 2026-11-20 is before --from 2026-11-21",
        ),
        (
            ("export", "events", "--website", "w", "--key", "k", "--to", "2026-11-21"),
            "--to needs --from, the first day",
        ),
        (
            ("export", "events", "--website", "w", "--key", "k", "--from", "a", "--preset", "b"),
            "give either --from or --preset",
        ),
        (
            ("snippet", "w", "--collect-url", "foo"),
            "Invalid value for '--collect-url': 'foo' is neither an http or https URL, such as "
            "https://t.shop.example, nor a path of the site, such as /t",
        ),
        (
            ("links", "create", "--organization", "o", "--name", "n", "--target-url", "ftp://x"),
            "'targetUrl' must be an http or https URL of at most 2,048 characters "
            "without user name; set TIDEMARK_LINK_SCHEMES to allow app schemes",
        ),
        (("links", "update", "l"), "nothing to change; give at least one option"),
        (
            ("keys", "create", "--organization", "o"),
            "Missing option '--scope'. Choose from: track:events, read:data, read:links, "
            "write:links, write:records, manage:websites, erase:visitors, admin",
        ),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)

    assert done == Done(2, "", f"tidemark: {message}\n")


def test_status_describes_an_installation_that_is_not_running(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    unknown = dict.fromkeys(("newest", "lagChunks", "lagSeconds", "problem"))
    nothing = {"rows": 0, "dataMb": 0.0, **unknown}

    status = ask("status")

    assert status.pop("diskFreeMb") > 0
    assert status == {
        "data": str(tmp_path),
        "state": "down",
        "problems": ["Tidemark is not running"],
        "processes": [],
        "tables": [
            {"name": n, **nothing}
            for n in ("events", "vitals", "errors", "clicks", "engagement", "identities")
        ],
        "imports": {"lagChunks": None, "lagSeconds": None},
        "quarantineRows": 0,
        "preparedMb": 0.0,
        "lastBackupAt": None,
        "remote": [],
        "workers": None,
    }


def test_every_command_has_a_help_text() -> None:
    def without_help(command: Any, path: str) -> list[str]:
        found = [] if command.help else [path]
        for name, inner in inner_of(command).items():
            found += without_help(inner, f"{path} {name}")
        return found

    def inner_of(command: Any) -> dict[str, Any]:
        if not isinstance(command, click.Group):
            return {}
        context = click.Context(command)
        return {n: command.get_command(context, n) for n in command.list_commands(context)}

    assert "undo" in inner_of(inner_of(tidemark)["import"])
    assert without_help(tidemark, "tidemark") == []


def test_the_list_of_commands_has_the_first_sentence_of_each_help() -> None:
    context = click.Context(tidemark)
    first_sentences = {}
    for name in COMMANDS:
        command = tidemark.get_command(context, name)
        assert command
        first_sentences[name] = command.get_short_help_str(limit=300)

    assert {name: summary for name, (_, summary) in COMMANDS.items()} == first_sentences


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("settings",), ("status", "--help"), ("up", "--help"), ("ask", "--help")],
)
def test_a_light_command_imports_no_heavy_package(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    program = (
        "import sys\n"
        "from deploy.cli import main\n"
        "main(sys.argv[1:])\n"
        f"print(*{HEAVY_PACKAGES} & sys.modules.keys(), file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "TIDEMARK_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout
    assert done.stderr.split() == []


@pytest.mark.parametrize("url", ["postgresql://h:noport/x", "sqlite:////proc/nowhere/registry.db"])
def test_a_registry_that_cannot_be_opened_is_one_line(run: Run, url: str) -> None:
    for command in (("websites", "list"), ("up",)):
        done = run(
            *command,
            TIDEMARK_REGISTRY=url,
            TIDEMARK_KAFKA="127.0.0.1:1",
            TIDEMARK_COLLECT_PORT=str(free_port()),
            TIDEMARK_QUERY_PORT=str(free_port()),
            TIDEMARK_METRICS_PORT="0",
        )

        assert done.code == 1
        assert done.err.startswith("tidemark: the registry cannot be opened: ")
        assert len(done.err.splitlines()) == 1


def test_an_export_into_a_folder_that_does_not_exist_is_one_line(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "nowhere" / "events.csv"

    done = run("export", "events", "--website", "w", "--key", "k", "--output", str(output))

    assert (done.code, done.err) == (
        1,
        f"tidemark: {output} cannot be written: No such file or directory\n",
    )


def test_an_export_replaces_no_pipe_or_device(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "pipe"
    os.mkfifo(output)

    done = run("export", "events", "--website", "w", "--key", "k", "--output", str(output))

    assert done.code == 2
    assert "is not a regular file; leave --output away" in done.err
    assert output.is_fifo()


@pytest.mark.parametrize("command", ["websites", "import", "ask"])
def test_an_argument_that_is_not_utf_8_is_a_usage_error(tmp_path: Path, command: str) -> None:
    """The process itself is started: only its start makes text of the bytes of arguments."""
    program = [os.fsencode(sys.executable), b"-m", b"deploy.cli"]
    done = subprocess.run(
        [*program, command.encode(), b"--name", b"caf\xe9"],
        env={**os.environ, "TIDEMARK_DATA_DIR": str(tmp_path), "PYTHONUTF8": "1"},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"tidemark: argument 3 is not UTF-8: 'caf\\xe9'\n"


def test_a_closed_standard_output_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m deploy.cli settings >&-"],
        env={**os.environ, "TIDEMARK_DATA_DIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(b"tidemark: the standard output is closed")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [("settings",), ("settings", "--json")])
def test_a_full_standard_output_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "deploy.cli", *command],
            env={**os.environ, "TIDEMARK_DATA_DIR": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, b"tidemark: No space left on device\n")
