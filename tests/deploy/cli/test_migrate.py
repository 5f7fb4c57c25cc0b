"""`tidemark migrate` and its check."""

from pathlib import Path

import sqlalchemy as sa

from schemas.registry.database import create_engine
from schemas.registry.migrate import newest_schema_revision
from tests.deploy.cli.command_result import Run

NEWEST = newest_schema_revision()


def test_the_check_changes_nothing_and_names_what_to_do(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"

    assert run("migrate", "--check").code == 1
    assert not (tmp_path / "registry.db").exists()
    assert run("migrate").out == f"the registry has schema {NEWEST}, migrated from nothing\n"
    assert run("migrate").out == f"the registry has schema {NEWEST}\n"
    assert run("migrate", "--check").out == (
        f"the registry has schema {NEWEST}, which is current\n"
    )

    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    check, migrate = run("migrate", "--check"), run("migrate")
    assert (check.code, migrate.code) == (1, 1)
    assert "has schema 9999" in check.err
    assert "has schema 9999" in migrate.err
