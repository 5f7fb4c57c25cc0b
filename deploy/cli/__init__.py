"""`tidemark`: everything that is done to Tidemark from a command line, one file per group."""

import os
import sys
from collections.abc import Sequence

import click

from deploy.cli.asking import ask, export
from deploy.cli.audit import audit
from deploy.cli.common import Tidemark
from deploy.cli.debugging import debug
from deploy.cli.demo import demo
from deploy.cli.doctor import doctor
from deploy.cli.geo import geo
from deploy.cli.history import imports
from deploy.cli.keys import keys
from deploy.cli.links import links
from deploy.cli.organizations import organizations
from deploy.cli.reenriching import reenrich
from deploy.cli.registry import registry
from deploy.cli.repairing import repair
from deploy.cli.running import status, up
from deploy.cli.scrub import scrub
from deploy.cli.settings import settings, topics
from deploy.cli.snippet import snippet
from deploy.cli.websites import websites
from schemas.private import keep_private
from schemas.settings import SettingRefused, load, unknown

COMMANDS = (
    up,
    status,
    doctor,
    settings,
    topics,
    organizations,
    websites,
    snippet,
    links,
    keys,
    registry,
    audit,
    ask,
    export,
    debug,
    imports,
    reenrich,
    scrub,
    repair,
    geo,
    demo,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tidemark")
@click.pass_context
def tidemark(context: click.Context) -> None:
    """Open, self-hostable analytics.

    Settings are environment variables: see `tidemark settings`.
    """
    try:
        settings = load(os.environ)
    except SettingRefused as refused:
        raise click.UsageError(str(refused)) from None
    context.obj = Tidemark(settings, keep_private(settings))
    for sentence in unknown(os.environ):
        click.echo(f"tidemark: {sentence}", err=True)


for command in COMMANDS:
    tidemark.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The installed program: every refusal is one line, and the exit code says which sort."""
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        code = tidemark.main(arguments, prog_name="tidemark", standalone_mode=False)
    except click.UsageError as refused:
        click.echo(f"tidemark: {' '.join(refused.format_message().split())}", err=True)
        sys.exit(refused.exit_code)
    except click.ClickException as refused:
        click.echo(f"tidemark: {refused.format_message()}", err=True)
        sys.exit(refused.exit_code)
    except click.Abort:
        sys.exit(130)
    finally:
        os.umask(mask)  # whoever calls us goes on as before
    if code:  # of `context.exit`; commands answer nothing
        sys.exit(code)
