"""`tidemark quickstart`: a website and an API key for a domain, in one command."""

from collections.abc import Mapping

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.cli.snippet import collect_url_option
from deploy.demo.demo_file import Demo, read_demo
from schemas.errors import Malformed
from schemas.http.script_tag import main_tag
from schemas.registry import KEY_SCOPES, Organization, RegistryStore, Website, parse_key
from schemas.registry.validation import (
    new_key,
    new_organization,
    new_website,
    validate_domain,
    validate_timezone,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import public_collector_url, public_query_url, query_service_url

NEW_ORGANIZATION = "new"


@click.command()
@click.argument("domain")
@click.option("--timezone", default="UTC", show_default=True, help="IANA time zone of its days.")
@click.option(
    "--organization",
    metavar="ID|new",
    help="Organization of the website; `new` creates one. Default: the one of `make run`, or the "
    "only one; the first is created.",
)
@collect_url_option
@as_json
@click.pass_obj
def quickstart(
    tidemark: CliContext,
    domain: str,
    timezone: str,
    organization: str | None,
    collect_url: str | None,
    json: bool,
) -> None:
    """Create a website and an API key for DOMAIN; print what to do next.

    DOMAIN may be an address, such as https://shop.example/. The key is shown once; it has access to
    all of the organization. If there is a website of this domain already, nothing is created.
    """
    try:
        domain = validate_domain(domain)
        validate_timezone(timezone)
    except Malformed as error:  # before a data folder is created
        raise click.UsageError(str(error)) from None
    settings, key = tidemark.settings, None
    with tidemark.open_registry(creates_folder=True) as store:
        demo = read_demo(settings.data)
        website = find_website(store, domain, organization)
        if website is None:
            owner = find_organization(store, organization, demo)
            website, key = create_records(store, owner, domain, timezone)
        link = dashboard_link(store, public_query_url(settings), website, key, demo)
    base = public_collector_url(settings) if collect_url is None else collect_url
    result = {
        "organizationId": website.organization_id,
        "websiteId": website.id,
        "created": key is not None,
        "key": key,
        "script": main_tag(base, website),
        "query": first_query(query_service_url(settings), website.id, key),
        "signInLink": link,
    }
    if json:
        print_json(result)
    else:
        click.echo(next_steps(domain, result))


def find_website(store: RegistryStore, domain: str, organization: str | None) -> Website | None:
    """The oldest website of a domain, in one organization or in any."""
    websites = store.list(Website, organization_id=organization)
    return next((website for website in websites if website.domain == domain), None)


def find_organization(
    store: RegistryStore, organization: str | None, demo: Demo | None
) -> Organization | None:
    """The organization of a new website; None: one has to be created."""
    if organization == NEW_ORGANIZATION:
        return None
    if organization is not None:
        return store.get(Organization, organization)
    organizations = store.list(Organization)
    if demo and (found := [one for one in organizations if one.id == demo.organization_id]):
        return found[0]
    if len(organizations) > 1:
        raise click.UsageError(
            f"there are {len(organizations)} organizations; name one with --organization ID "
            "(`tidemark organizations list`), or --organization new"
        )
    return organizations[0] if organizations else None


def create_records(
    store: RegistryStore, organization: Organization | None, domain: str, timezone: str
) -> tuple[Website, str]:
    """Create the records, all validated before the first is stored; website and text of the key."""
    now = now_ms()
    owner = organization or new_organization(domain, "free", now)
    website = new_website(owner.id, domain, now, timezone=timezone)
    key, text = new_key(owner.id, KEY_SCOPES, now, name=f"quickstart {domain}")
    if organization is None:
        store.create(owner)
    store.create(website)
    store.create(key)
    return website, text


def dashboard_link(
    store: RegistryStore, query_url: str, website: Website, key: str | None, demo: Demo | None
) -> str | None:
    """An address that signs in with the new key, or the demo's; None: neither sees the website."""
    from deploy.local.sign_in_link import has_dashboard, sign_in_link  # it loads HTTP

    if key is None and demo and demo.organization_id == website.organization_id:
        key = demo.api_key
    parts = parse_key(key) if key else None
    return sign_in_link(store, query_url, parts[0], now_ms()) if parts and has_dashboard() else None


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
    from deploy.local.sign_in_link import command_name

    command = command_name()
    website, key, link = result["websiteId"], result["key"], result["signInLink"]
    owner = result["organizationId"]
    head = (
        f"website       {website}\norganization  {owner}\n"
        f"API key       {key} (shown only now; keep it secret, it may do everything in the "
        "organization)"
        if key
        else f"{domain} exists already: website {website} of {owner}; "
        "nothing was created.\nIts key cannot be shown again. Create another one: "
        f"{command} keys create --organization {owner} --scope admin"
    )
    dashboard = (
        f"Open the dashboard, signed in (once, within 15 minutes):\n\n  {link}"
        if link
        else f"An address that signs in to the dashboard: {command} sign-in-link KEY_ID "
        f"(`{command} keys list` shows the ids)"
    )
    return f"""{head}

Paste this into the <head> of every page (a public site needs --collect-url, the address at which
browsers reach the collector):

{result["script"]}

See page views arrive: TIDEMARK_API_KEY={key or "YOUR_KEY"} {command} debug {website}

Run a first query:

{result["query"]}

{dashboard}"""
