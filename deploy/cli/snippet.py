"""`tidemark snippet`: the script tags that a website pastes into its pages."""

import re
from collections.abc import Iterator
from html import escape
from urllib.parse import urlsplit

import click

from deploy.cli.context import Tidemark, as_json, print_json
from deploy.local.processes.readiness import collect_address
from ingest.endpoints.scripts import Script, file_name, read_manifest
from schemas.registry import Website

SCRIPT = "tidemark"
EXTRAS = ("vitals", "errors")


def _reached(_context: click.Context, _option: click.Parameter, url: str | None) -> str | None:
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


@click.command()
@click.argument("website")
@click.option(
    "--collect-url",
    metavar="URL",
    callback=_reached,
    help="Where browsers reach the collector, a URL or a path of the site; its own address.",
)
@click.option("--vitals", is_flag=True, help="Measure web vitals, too.")
@click.option("--errors", is_flag=True, help="Report errors that nobody caught, too.")
@click.option("--persist", is_flag=True, help="Keep visitor and session ids in localStorage.")
@as_json
@click.pass_obj
def snippet(
    tidemark: Tidemark,
    website: str,
    collect_url: str | None,
    vitals: bool,
    errors: bool,
    persist: bool,
    json: bool,
) -> None:
    """Print the script tags for the pages of WEBSITE, with and without integrity."""
    with tidemark.store() as store:
        store.get(Website, website)
    base = (collect_url or collect_address(tidemark.settings)).rstrip("/")
    extras = [name for name, asked in zip(EXTRAS, (vitals, errors), strict=True) if asked]
    kept = ("data-persist",) if persist else ()
    plain = tag(base, SCRIPT, website, *kept, *(f"data-{extra}" for extra in extras))
    whole = "\n".join(pinned(base, website, extras, kept))
    if json:
        print_json({"script": plain, "pinned": whole})
        return
    click.echo(plain)
    click.echo("\nPinned to this version of the script, by its hash:\n")
    click.echo(whole)


def tag(base: str, name: str, website: str, *attributes: str, script: Script | None = None) -> str:
    """One script tag; with the script's integrity when it is given."""
    told = [f'src="{escape(base)}/{file_name(name, script)}"', f'data-website-id="{website}"']
    if script is not None:
        told += [f'integrity="{script.integrity}"', 'crossorigin="anonymous"']
    return f"<script defer {' '.join((*told, *attributes))}></script>"


def pinned(base: str, website: str, extras: list[str], kept: tuple[str, ...]) -> Iterator[str]:
    """A tag for each script, because one that is pinned loads no other that is not."""
    manifest = read_manifest()
    for name in (SCRIPT, *(f"{SCRIPT}-{extra}" for extra in extras)):
        if name not in manifest:
            raise click.ClickException("the tracker scripts are not built: `make setup` does it")
        yield tag(base, name, website, *kept, script=manifest[name])
