"""`tidemark snippet`: the script tags for the pages of a website."""

from collections.abc import Callable, Iterator

import click

from deploy.cli.context import CliContext, as_json, print_json
from ingest.endpoints.scripts import file_name, read_manifest
from schemas.errors import Malformed
from schemas.http.script_tag import (
    EXTRA_SCRIPTS,
    MAIN_SCRIPT,
    main_tag,
    script_tag,
    tag_attributes,
    validate_collect_url,
)
from schemas.registry import Website
from schemas.runtime.service_urls import public_collector_url


def _collect_url(_context: click.Context, _option: click.Parameter, url: str | None) -> str | None:
    try:
        return url if url is None else validate_collect_url(url)
    except Malformed as error:
        raise click.BadParameter(str(error)) from None


def _extra_options(command: Callable[..., None]) -> Callable[..., None]:
    """One flag for each extra script, named `extra_…`."""
    for name, help_text in reversed(list(EXTRA_SCRIPTS.items())):
        option = click.option(f"--{name}", f"extra_{name}", is_flag=True, help=help_text)
        command = option(command)
    return command


collect_url_option = click.option(
    "--collect-url",
    metavar="URL",
    callback=_collect_url,
    help="Public URL of the collector, or a path of the site. Default: "
    "TIDEMARK_COLLECT_URL, or its local address.",
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
        record = store.get(Website, website)
    base = public_collector_url(tidemark.settings) if collect_url is None else collect_url
    extras = [name for name in EXTRA_SCRIPTS if flags[f"extra_{name}"]]
    plain = main_tag(base, record, extras, persist)
    whole = "\n".join(pinned_tags(base, record, extras, persist))
    if json:
        print_json({"script": plain, "pinned": whole})
        return
    click.echo(plain)
    click.echo("\nPinned to this version of the script, by its hash:\n")
    click.echo(whole)


def pinned_tags(base: str, website: Website, extras: list[str], persist: bool) -> Iterator[str]:
    """One tag per script with its hash, because a pinned script loads no unpinned ones."""
    manifest = read_manifest()
    for name in (MAIN_SCRIPT, *(f"{MAIN_SCRIPT}-{extra}" for extra in extras)):
        if name not in manifest:
            raise click.ClickException("the tracker scripts are not built; run `make setup`")
        script = manifest[name]
        pinned = (f'integrity="{script.integrity}"', 'crossorigin="anonymous"')
        attributes = (*pinned, *tag_attributes(website, persist))
        yield script_tag(f"{base}/{file_name(name, script)}", website.id, *attributes)
