"""`tidemark repair`: replace a damaged data file from Kafka."""

import click

from deploy.cli.context import CliContext
from schemas.registry import Snapshot


@click.command()
@click.argument("file", metavar="TABLE/PATH")
@click.option(
    "--accept-loss", is_flag=True, help="Accept the loss of rows that Kafka no longer has."
)
@click.pass_obj
def repair(tidemark: CliContext, file: str, accept_loss: bool) -> None:
    """Remove a damaged data file from its table, and store its rows again from Kafka.

    TABLE/PATH is the file as `tidemark doctor` names it. Without --accept-loss nothing is changed
    unless Kafka still has every row. Lost rows are recorded in the quarantine and in the ledger.
    """
    from schemas.lake.delta_table import UnreadableTable  # with the table format
    from stream.enrich.rules.registry_lookups import registry_lookups
    from stream.recovery.file_repair import NotRepaired
    from stream.recovery.file_repair import repair as repair_file
    from stream.runtime.errors import FatalError

    with tidemark.open_registry() as store:
        lookups = registry_lookups(tidemark.settings, Snapshot.read(store))
        try:
            repaired = repair_file(tidemark.settings, file, lookups, accept_loss)
        except (NotRepaired, FatalError) as error:
            raise click.ClickException(str(error)) from None
        except UnreadableTable as error:
            raise click.ClickException(f"{error}; run tidemark doctor") from None
    click.echo(str(repaired))
