"""`tidemark adopt`: let the trackers of another product send to a website."""

import secrets
import time
import uuid
from urllib.parse import urlsplit

import click

from deploy.cli.context import CliContext, key_options
from deploy.demo.demo_file import read_demo
from ingest.protocols.all_protocols import PROTOCOLS
from ingest.protocols.protocol import Protocol
from ingest.protocols.vercel import VERCEL, drain_secret
from query.client import Client, ServiceError, TransferError
from query.resources.saved_validation import validate_record
from schemas.registry import Alias, Import, KeyScope, RecordConflict, RegistryStore, Website
from schemas.registry.ids import random_id
from schemas.registry.validation import new_import, new_key
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
@click.option(
    "--history",
    is_flag=True,
    help="Open an import for what its clients send as history, with an API key for them.",
)
@click.option(
    "--tee",
    "tee_url",
    metavar="URL",
    help="Send a copy of each request to the product's own server, such as its old address.",
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
    history: bool,
    tee_url: str | None,
    collect_url: str | None,
    no_wait: bool,
    key: str | None,
    key_file: str | None,
) -> None:
    """Let trackers of PRODUCT send to WEBSITE, and wait for their first event.

    Registers the id that they send as an alias of the website, and prints what to change in them.
    With --history it creates an import and a key instead. Waiting needs a key with `read:data`
    (default: the demo's).
    """
    protocol = BY_PRODUCT[product]
    if history and not protocol.history:
        raise click.UsageError(
            f"clients of {protocol.title} send no history; `tidemark import` reads its exports"
        )
    if history and (alias or tee_url):
        raise click.UsageError("--history takes --collect-url only")
    base = (collect_url or public_collector_url(tidemark.settings)).rstrip("/")
    with tidemark.open_registry() as store:
        owner = store.get(Website, website)
        if history:
            return open_history(store, protocol, owner, base)
        name = alias or new_id(product, owner)
        register_alias(store, product, owner, name, tee_url)
        secret = store.receipt_key().secret_for(product)
    host = urlsplit(base).netloc
    click.echo(f"{protocol.title}: '{name}' is an alias of the website {website}.")
    if tee_url:
        click.echo(f"A copy of each request with it is sent to {tee_url}.")
    click.echo(f"Change in its trackers: {protocol.setting.format(url=base, host=host, id=name)}")
    if product == VERCEL.product:
        click.echo(f"Its secret: {drain_secret(name, secret)}")
    demo = read_demo(tidemark.settings.data)
    text = key_file or key or (demo.api_key if demo and demo.website_id == website else None)
    if no_wait:
        return None
    if text is None:
        click.echo(f"See events as they arrive with an API key: tidemark debug {website}")
        return None
    address = query_service_url(tidemark.settings)
    if address is None:
        raise click.ClickException("the address of the query service is not known here")
    return wait_for_first_event(Client(address, text, tries=1), website)


def register_alias(
    store: RegistryStore, product: str, owner: Website, name: str, tee_url: str | None
) -> None:
    """Create the alias, or give the one that the website has the address of its copies."""
    now = now_ms()
    record = validate_record(
        Alias(
            id=f"{Alias.id_prefix}_{random_id(12)}",
            organization_id=owner.organization_id,
            website_id=owner.id,
            product=product,
            name=name,
            tee_url=tee_url,
            created_at=now,
            updated_at=now,
        )
    )
    try:
        store.create(record)
    except RecordConflict:
        registered = store.list(Alias, website_id=owner.id, product=product, name=record.name)
        if not registered:
            raise
        if tee_url:
            store.update(Alias, registered[0].id, now, tee_url=record.tee_url)


def open_history(store: RegistryStore, protocol: Protocol, owner: Website, base: str) -> None:
    """Open an import for history of the product, unless one is open, and create a key for it."""
    product, now = protocol.product, now_ms()
    imports = store.list(Import, website_id=owner.id, product=product)
    target = next((one for one in imports if one.takes_history_of(product, owner.id)), None)
    if target is None:
        target = store.create(new_import(owner, f"{product} history", now, product=product))
    name = f"{product} history {target.id}"
    key, text = new_key(owner.organization_id, [KeyScope.TRACK_EVENTS], now, owner.id, name)
    store.create(key)
    setting = protocol.history.format(url=base, host=urlsplit(base).netloc, id=text)
    click.echo(f"{protocol.title}: history of the website {owner.id} goes to import {target.id}.")
    click.echo(f"Set in the client that sends it: {setting}")
    click.echo("The key is shown this once. What is sent again within a day is stored once.")
    click.echo(f"When all is sent: tidemark import close {target.id}")
    click.echo(f"               and: tidemark keys delete {key.id}")
    click.echo(f"To remove its rows: tidemark import undo {target.id}")


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
