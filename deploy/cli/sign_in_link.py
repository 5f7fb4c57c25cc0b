"""`tidemark sign-in-link`: an address that signs a browser in to the dashboard."""

import click

from deploy.cli.context import CliContext
from deploy.demo.demo_file import read_demo
from schemas.registry import parse_key
from schemas.runtime.address_rules import url_problem
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import public_query_url


def _http_url(_context: click.Context, _option: click.Parameter, url: str | None) -> str | None:
    if url is not None and (not url.startswith(("http://", "https://")) or url_problem(url)):
        raise click.BadParameter(f"'{url}'; give an http or https URL: https://stats.example")
    return url


@click.command()
@click.argument("key_id", metavar="KEY_ID", required=False)
@click.option(
    "--url",
    callback=_http_url,
    help="Address (http or https) of the query service. Default: TIDEMARK_QUERY_URL, else "
    "that of this machine.",
)
@click.pass_obj
def sign_in_link(tidemark: CliContext, key_id: str | None, url: str | None) -> None:
    """Print an address that signs in once, within 15 minutes, with the access of an API key.

    KEY_ID is the id of the key, as `tidemark keys list` shows it. Default: the key of the demo.
    """
    from deploy.local.sign_in_link import sign_in_link as new_link  # it loads HTTP

    key_id = key_id or _demo_key_id(tidemark)
    address = (url or public_query_url(tidemark.settings)).rstrip("/")
    with tidemark.open_registry() as store:
        click.echo(new_link(store, address, key_id, now_ms()))


def _demo_key_id(tidemark: CliContext) -> str:
    demo = read_demo(tidemark.settings.data)
    parts = parse_key(demo.api_key) if demo else None
    if parts is None:
        raise click.UsageError("there is no demo here; give the id of a key: `tidemark keys list`")
    return parts[0]
