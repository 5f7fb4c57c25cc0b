"""`tidemark`: the command line, one file per group of commands."""

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

import click

from deploy.cli.context import CliContext
from schemas.lake.object_store import StoreUnreachable
from schemas.runtime.environment import InvalidSetting, load_settings, unknown_variables
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.log_setup import silence

COMMANDS = {
    "up": "up.up",
    "status": "up.status",
    "restart": "restart.restart",
    "scale": "scale.scale",
    "doctor": "doctor.doctor",
    "settings": "settings.settings",
    "topics": "settings.topics",
    "quickstart": "quickstart.quickstart",
    "organizations": "organizations.organizations",
    "websites": "websites.websites",
    "snippet": "snippet.snippet",
    "links": "links.links",
    "keys": "keys.keys",
    "sign-in-link": "sign_in_link.sign_in_link",
    "goals": "saved_records.goals",
    "segments": "saved_records.segments",
    "annotations": "saved_records.annotations",
    "money": "saved_records.money",
    "shares": "saved_records.shares",
    "funnels": "saved_records.funnels",
    "registry": "registry.registry",
    "migrate": "migrate.migrate",
    "audit": "audit.audit",
    "ask": "ask.ask",
    "export": "export.export",
    "mcp": "mcp.mcp",
    "debug": "debug.debug",
    "quarantine": "quarantine.quarantine",
    "limits": "quarantine.limits",
    "import": "imports.imports",
    "reenrich": "reenrich.reenrich",
    "rebuild": "rebuild.rebuild",
    "scrub": "scrub.scrub",
    "repair": "repair.repair",
    "engine": "engine.engine",
    "geo": "geo.geo",
    "demo": "demo.demo",
}
"""Command name → file and function, in the order in which `--help` lists them."""


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
        module, _, name = COMMANDS[cmd_name].partition(".")
        command: click.Command = getattr(import_module(f"deploy.cli.{module}"), name)
        return command


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
