"""`tidemark migrate`: create or migrate the tables of the registry, or check them."""

import click

from deploy.cli.context import CliContext
from deploy.local.preflight import RegistryUnavailable
from deploy.local.registry_startup import error_reason, prepare_registry
from schemas.registry import DatabaseError, RegistryStore
from schemas.registry.migrate import SchemaMismatch, newest_schema_revision, schema_revision


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 unless it is current.")
@click.pass_obj
def migrate(tidemark: CliContext, check: bool) -> None:
    """Create or migrate the tables of the registry, before new versions of services start.

    `tidemark up` does this by itself. With several machines, run it once: those that run it at the
    same time wait for each other. Services refuse to start with tables of another version.
    """
    tidemark.require_data_folder()
    settings = tidemark.settings
    if check:
        _check(settings.registry_url)
    else:
        before = _current(settings.registry_url)
        try:
            prepare_registry(settings)
        except RegistryUnavailable as error:
            raise click.ClickException(str(error)) from None
        after = newest_schema_revision()
        click.echo(
            f"the registry has schema {after}"
            + ("" if before == after else f", migrated from {before or 'nothing'}")
        )


def _current(url: str) -> str | None:
    """The schema of the registry; None without tables or without a database."""
    try:
        return schema_revision(url)
    except DatabaseError:
        return None


def _check(url: str) -> None:
    store = RegistryStore(url)
    try:
        store.require_current_schema()
    except SchemaMismatch as error:
        raise click.ClickException(str(error)) from None
    except DatabaseError as error:
        raise click.ClickException(f"the registry cannot be read: {error_reason(error)}") from None
    finally:
        store.close()
    click.echo(f"the registry has schema {newest_schema_revision()}, which is current")
