"""`tidemark adopt`: let the trackers of another product send to a website."""

import secrets
import time
import uuid
from urllib.parse import urlsplit

import click

from deploy.cli.context import CliContext, key_options
from deploy.demo.demo_file import read_demo
from ingest.protocols.all_protocols import PROTOCOLS
from ingest.protocols.vercel import VERCEL, drain_secret
from query.client import Client, ServiceError, TransferError
from query.resources.saved_validation import validate_record
from schemas.registry import Alias, RecordConflict, Website
from schemas.registry.ids import random_id
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import public_collector_url, query_service_url

BY_PRODUCT = {protocol.product: protocol for protocol in PROTOCOLS}
POLL_SECONDS = 1.0
WAIT_SECONDS = 600


@click.command()
@click.argument("product", type=click.Choice(sorted(BY_PRODUCT)))
@click.argument("website")
@click.option(
    "--id",
    "alias",
    metavar="ID",
    help="What the trackers send now: a domain, write key, token, measurement or project id. "
    "Default: a new one, of the product's form.",
)
@click.option("--collect-url", metavar="URL", help="Public URL of the collector.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the first event.")
@key_options
@click.pass_obj
def adopt(
    tidemark: CliContext,
    /,
    product: str,
    website: str,
    alias: str | None,
    collect_url: str | None,
    no_wait: bool,
    key: str | None,
    key_file: str | None,
) -> None:
    """Let trackers of PRODUCT send to WEBSITE, and wait for their first event.

    Registers the id that they send as an alias of the website, and prints what to change in them.
    Waiting needs a key with `read:data` (default: the demo's).
    """
    protocol, now = BY_PRODUCT[product], now_ms()
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        name = alias or new_id(product, owner)
        record = validate_record(
            Alias(
                id=f"{Alias.id_prefix}_{random_id(12)}",
                organization_id=owner.organization_id,
                website_id=owner.id,
                product=product,
                name=name,
                created_at=now,
                updated_at=now,
            )
        )
        try:
            store.create(record)
        except RecordConflict:
            if not store.list(Alias, website_id=website, product=product, name=name):
                raise
        secret = store.receipt_key().secret_for(product)
    base = (collect_url or public_collector_url(tidemark.settings)).rstrip("/")
    host = urlsplit(base).netloc
    click.echo(f"{protocol.title}: '{name}' is an alias of the website {website}.")
    click.echo(f"Change in its trackers: {protocol.setting.format(url=base, host=host, id=name)}")
    if product == VERCEL.product:
        click.echo(f"Its secret: {drain_secret(name, secret)}")
    demo = read_demo(tidemark.settings.data)
    text = key_file or key or (demo.api_key if demo and demo.website_id == website else None)
    if no_wait:
        return
    if text is None:
        click.echo(f"See events as they arrive with an API key: tidemark debug {website}")
        return
    address = query_service_url(tidemark.settings)
    if address is None:
        raise click.ClickException("the address of the query service is not known here")
    wait_for_first_event(Client(address, text, tries=1), website)


def wait_for_first_event(client: Client, website: str) -> None:
    """Wait until more events are stored than at the start, or for ten minutes."""
    click.echo("Waiting for the first event (Ctrl-C ends this, and changes nothing) …")
    deadline, first = time.monotonic() + WAIT_SECONDS, None
    while time.monotonic() < deadline:
        try:
            events = client.website_status(website)["events"]
        except (ServiceError, TransferError) as error:
            reason = f"the query service does not say what arrived: {error}"
            raise click.ClickException(reason) from None
        if first is None:
            first = events
        if events > first:
            click.echo(f"{events - first} of its events are stored.")
            return
        time.sleep(POLL_SECONDS)
    raise click.ClickException(
        f"no event arrived within {WAIT_SECONDS // 60} minutes; "
        f"`tidemark debug {website}` shows what is refused"
    )


def new_id(product: str, website: Website) -> str:
    """An id of the form that the product's trackers expect."""
    if product == "plausible":
        return website.domain
    if product == "ga4":
        alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
        return "G-" + "".join(secrets.choice(alphabet) for _ in range(10))
    if product == "posthog":
        return f"phc_{secrets.token_urlsafe(32)}"
    if product in ("umami", "openpanel"):
        return str(uuid.uuid4())
    if product == "matomo":  # a number
        return str(secrets.randbelow(2_000_000_000) + 1_000)
    return secrets.token_hex(16)
