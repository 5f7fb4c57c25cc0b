"""`tidemark engine register`: the statements that it sends, and what it says."""

from pathlib import Path

from tests.deploy.cli.command_result import Run
from tests.query.engine.trino.coordinator import coordinator
from tests.query.lake import Lake, a_click, a_view

KNOWN = {"message": "exists", "errorName": "TABLE_ALREADY_EXISTS", "errorType": "USER_ERROR"}


def test_tables_that_have_rows_are_registered(run: Run, tmp_path: Path) -> None:
    Lake(tmp_path / "lake").holds(a_view("/"), a_click())
    with coordinator() as played:
        done = run("engine", "register", "--address", played.address, "--lake", "s3://lake/t/")

    assert done.code == 0
    assert played.statements == [
        'CREATE SCHEMA IF NOT EXISTS "lake"."tidemark"',
        *(
            f"CALL \"lake\".system.register_table('tidemark', '{name}', 's3://lake/t/{name}')"
            for name in ("events", "clicks")
        ),
    ]
    first, absent = done.out.splitlines()
    assert first.endswith("(lake.tidemark): events, clicks registered")
    assert absent.startswith("without rows, so not registered: ")


def test_a_registered_table_stays(run: Run, tmp_path: Path) -> None:
    Lake(tmp_path / "lake").holds(a_view("/"))
    with coordinator({"columns": []}) as played:
        played.errors["CALL"] = KNOWN
        done = run("engine", "register", "--address", played.address)

    assert done.code == 0
    assert "registered before: events" in done.out


def test_an_address_is_needed(run: Run) -> None:
    done = run("engine", "register")

    assert done.code == 1
    assert "TIDEMARK_ENGINE must be trino://" in done.err
