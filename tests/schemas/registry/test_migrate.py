"""A registry of the first schema becomes one of the newest."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from schemas.registry import (
    Key,
    RegistryStore,
    Website,
)
from schemas.registry.database import create_engine
from schemas.registry.migrate import MIGRATIONS, migrate


def test_a_registry_of_the_first_schema_is_migrated(path: Path) -> None:
    url = f"sqlite:///{path}"
    engine = create_engine(url, create=True)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        for statement in OLD_ROWS:
            connection.execute(sa.text(statement))
    engine.dispose()

    migrate(url)

    store = RegistryStore(url)
    (website,) = store.list(Website)
    (key,) = store.list(Key)
    stamp = store.read_version()
    store.close()
    assert (website.id, website.domain, key.scopes) == ("w", "shop.example", ("read:data",))
    assert (stamp.revision, len(stamp.incarnation)) == (8, 16)


OLD_ROWS = (
    "INSERT INTO organizations VALUES ('o', 'Acme', 'pro', '{}', 1, 1)",
    "INSERT INTO websites VALUES ('w', 'o', 'shop.example', 'Shop', 'UTC', 1, 1)",
    "INSERT INTO keys VALUES ('k', 'o', 'w', 'Key', '[\"read:data\"]', 'h', NULL, NULL, 1, 1)",
    "UPDATE revision SET number = 7",
)
