"""`tidemark snippet`: the script tags for the pages of a website."""

import re
from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import urlsplit

import click

from deploy.cli.context import CliContext, as_json, print_json
from deploy.local.processes.readiness import collector_url
from ingest.endpoints.scripts import BuiltScript, file_name, read_manifest
from schemas.registry import Website

MAIN_SCRIPT = "tidemark"
EXTRA_SCRIPTS = {
    "vitals": "Also measure web vitals.",
    "errors": "Also report uncaught errors.",
    "performance": "Also measure load times.",
    "engagement": "Also report interactions, rage and dead clicks, and abandoned forms.",
    "downloads": "Also track downloads of files.",
    "404": "Also track pages that do not exist.",
}


def _validate_collect_url(
    _context: click.Context, _option: click.Parameter, url: str | None
) -> str | None:
    if url is None or re.fullmatch(r"/([^/\s]\S*)?", url):
        return url
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if not known or re.search(r"\s", url):
        raise click.BadParameter(
            f"'{url}' is neither an http or https URL, such as https://t.shop.example, nor a path "
            "of the site, such as /t"
        )
    return url


def _extra_options(command: Callable[..., None]) -> Callable[..., None]:
    """One flag for each extra script, named `extra_…`."""
    for name, help_text in reversed(EXTRA_SCRIPTS.items()):
        option = click.option(f"--{name}", f"extra_{name}", is_flag=True, help=help_text)
        command = option(command)
    return command


collect_url_option = click.option(
    "--collect-url",
    metavar="URL",
    callback=_validate_collect_url,
    help="Public URL of the collector, or a path of the site. Default: its local address.",
)


@click.command()
@click.argument("website")
@collect_url_option
@_extra_options
@click.option("--persist", is_flag=True, help="Keep visitor and session ids in localStorage.")
@as_json
@click.pass_obj
def snippet(
    tidemark: CliContext,
    /,
    website: str,
    collect_url: str | None,
    persist: bool,
    json: bool,
    **flags: bool,
) -> None:
    """Print the script tags for the pages of WEBSITE, with and without an integrity hash."""
    with tidemark.open_registry() as store:
        store.get(Website, website)
    base = (collect_url or collector_url(tidemark.settings)).rstrip("/")
    extras = [name for name in EXTRA_SCRIPTS if flags[f"extra_{name}"]]
    attributes = ("data-persist",) if persist else ()
    plain = script_tag(
        base, MAIN_SCRIPT, website, *attributes, *(f"data-{extra}" for extra in extras)
    )
    whole = "\n".join(pinned_tags(base, website, extras, attributes))
    if json:
        print_json({"script": plain, "pinned": whole})
        return
    click.echo(plain)
    click.echo("\nPinned to this version of the script, by its hash:\n")
    click.echo(whole)


def script_tag(
    base: str, name: str, website: str, *attributes: str, script: BuiltScript | None = None
) -> str:
    """One script tag; with an integrity hash when a built script is given."""
    tag_attributes = [
        f'src="{escape(base)}/{file_name(name, script)}"',
        f'data-website-id="{website}"',
    ]
    if script is not None:
        tag_attributes += [f'integrity="{script.integrity}"', 'crossorigin="anonymous"']
    return f"<script defer {' '.join((*tag_attributes, *attributes))}></script>"


def pinned_tags(
    base: str, website: str, extras: list[str], attributes: tuple[str, ...]
) -> Iterator[str]:
    """One tag per script, because a pinned script loads no unpinned ones."""
    manifest = read_manifest()
    for name in (MAIN_SCRIPT, *(f"{MAIN_SCRIPT}-{extra}" for extra in extras)):
        if name not in manifest:
            raise click.ClickException("the tracker scripts are not built; run `make setup`")
        yield script_tag(base, name, website, *attributes, script=manifest[name])
