"""`tidemark backup` as an operator calls it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.deploy.cli.command_result import Run
from tests.query.lake import Lake, an_event


def test_a_backup_is_written_listed_verified_and_pruned(
    run: Run, ask: Callable[..., Any], tmp_path: Path
) -> None:
    target = str(tmp_path / "target")
    ask("organizations", "create", "--name", "Acme")
    Lake(tmp_path / "lake").holds(an_event())

    written = ask("backup", target)

    assert written["rows"] == {"events": 1}
    assert written["tables"] == {"events": 1}
    assert (written["files"], written["copiedFiles"], written["damaged"]) == (4, 4, [])
    assert [listed["id"] for listed in ask("backup", "list", target)] == [written["id"]]
    assert ask("backup", "verify", target) == []
    assert run("backup", "verify", target).out == "1 backups are intact\n"
    assert ask("backup", "prune", target, "--keep-days", "1")["backups"] == []


def test_a_damaged_backup_ends_verify_with_exit_code_1(
    run: Run, ask: Callable[..., Any], tmp_path: Path
) -> None:
    target = tmp_path / "target"
    ask("organizations", "create", "--name", "Acme")
    identifier = ask("backup", str(target))["id"]
    [registry] = (target / "files" / "by-content").iterdir()
    registry.write_bytes(b"")

    done = run("backup", "verify", str(target), "--backup", identifier)

    assert done.code == 1
    assert registry.name in done.out
    assert "has 0 bytes, not" in done.out
    assert "remove damaged files from the target, and back up" in done.err


def test_a_wrong_target_or_backup_is_named(run: Run, ask: Callable[..., Any]) -> None:
    ask("organizations", "create", "--name", "Acme")

    unwritable = run("backup", "/proc/backups")
    none = run("backup", "verify", "/nowhere/backups")
    empty = run("backup", "")
    unknown = run("backup", "verify", "/nowhere/backups", "--backup", "20261129T120000Z")

    assert (unwritable.code, none.code, unknown.code) == (1, 1, 2)
    assert "/proc/backups" in unwritable.err
    assert empty.err == "tidemark: TARGET is empty; give a folder or an s3:// URL\n"
    assert none.err == "tidemark: /nowhere/backups has no backup\n"
    assert unknown.err == ("tidemark: --backup: /nowhere/backups has no backup 20261129T120000Z\n")
