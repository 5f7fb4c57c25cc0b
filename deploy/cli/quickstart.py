"""`tidemark quickstart`: organization, website and API key for a domain, in one command."""

from collections.abc import Mapping

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.cli.snippet import collect_url_option
from schemas.errors import Malformed
from schemas.http.script_tag import main_tag
from schemas.registry import KeyScope, RegistryStore, Website
from schemas.registry.validation import (
    new_key,
    new_organization,
    new_website,
    validate_domain,
    validate_timezone,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import public_collector_url, query_service_url

SCOPES = (KeyScope.TRACK_EVENTS, KeyScope.READ_DATA)


@click.command()
@click.argument("domain")
@click.option("--timezone", default="UTC", show_default=True, help="IANA time zone of its days.")
@collect_url_option
@as_json
@click.pass_obj
def quickstart(
    tidemark: CliContext, domain: str, timezone: str, collect_url: str | None, json: bool
) -> None:
    """Create an organization, a website and an API key for DOMAIN; print what to do next.

    The key is shown once. If there is a website of this domain already, nothing is created.
    """
    try:
        validate_domain(domain)
        validate_timezone(timezone)
    except Malformed as error:  # before a data folder is created
        raise click.UsageError(str(error)) from None
    with tidemark.open_registry(creates_folder=True) as store:
        website = find_website(store, domain)
        key = None if website else create_records(store, domain, timezone)
        website = website or find_website(store, domain)
    if website is None:
        raise click.ClickException(f"the website of '{domain}' was deleted in the meantime")
    settings = tidemark.settings
    base = public_collector_url(settings) if collect_url is None else collect_url
    result = {
        "organizationId": website.organization_id,
        "websiteId": website.id,
        "created": key is not None,
        "key": key,
        "script": main_tag(base, website.id),
        "query": first_query(query_service_url(settings), website.id, key),
    }
    if json:
        print_json(result)
    else:
        click.echo(next_steps(domain, result))


def find_website(store: RegistryStore, domain: str) -> Website | None:
    """The oldest website of a domain."""
    name = validate_domain(domain)
    return next((website for website in store.list(Website) if website.domain == name), None)


def create_records(store: RegistryStore, domain: str, timezone: str) -> str:
    """Create the three records, all validated before the first is stored; the text of the key."""
    now = now_ms()
    owner = new_organization(validate_domain(domain), "free", now)
    website = new_website(owner.id, domain, now, timezone=timezone)
    key, text = new_key(owner.id, SCOPES, now, website.id, "quickstart")
    store.create(owner)
    store.create(website)
    store.create(key)
    return text


def first_query(query_url: str, website: str, key: str | None) -> str:
    """A curl command that runs a query over the last seven days."""
    header = f"x-api-key: {key or 'YOUR_KEY'}"
    return (
        f"curl -s '{query_url}/v1/query?website_id={website}' -H '{header}' \\\n"
        "  -H 'content-type: application/json' \\\n"
        """  -d '{"parameters": ["summary", "top_pages"], "preset": "last_7d"}'"""
    )


def next_steps(domain: str, result: Mapping[str, object]) -> str:
    """The records, and what to do with them, as text."""
    website, key = result["websiteId"], result["key"]
    owner = result["organizationId"]
    head = (
        f"website       {website}\norganization  {owner}\n"
        f"API key       {key} (shown only now; keep it)"
        if key
        else f"{domain} exists already: website {website} of {owner}; "
        "nothing was created.\nIts key cannot be shown again. Create another one: "
        f"tidemark keys create --organization {owner} --website {website} "
        + " ".join(f"--scope {scope}" for scope in SCOPES)
    )
    return f"""{head}

Paste this into the <head> of every page (a public site needs --collect-url, the address at which
browsers reach the collector):

{result["script"]}

See page views arrive: TIDEMARK_API_KEY={key or "YOUR_KEY"} tidemark debug {website}

Run a first query:

{result["query"]}"""
