"""`tidemark doctor`: look at everything, say what is wrong and what mends it."""

from collections.abc import Iterator, Sequence

import click

from deploy.cli.common import Tidemark, as_json, print_json
from deploy.local.doctor import CHECKS, Outcome, Scope, examine

FINDINGS = 1
COULD_NOT_LOOK = 2


@click.command()
@click.option("--repair", is_flag=True, help="Mend what is safe to mend, and say what was done.")
@click.option("--checksums", is_flag=True, help="Read every data file and compare its checksum.")
@as_json
@click.pass_context
def doctor(context: click.Context, repair: bool, checksums: bool, json: bool) -> None:
    """Look for what is wrong: each finding says what it means and the command that mends it.

    Changes nothing without --repair; runs beside a running Tidemark as well as without.
    Exit code: 0 all is well, 1 there are findings, 2 it could not look.
    """
    settings = context.find_object(Tidemark).settings  # type: ignore[union-attr]
    if not settings.data.is_dir():
        click.echo(f"tidemark: there is no data folder {settings.data} to look at", err=True)
        context.exit(COULD_NOT_LOOK)
    outcomes = examine(CHECKS, Scope(settings, checksums), repair)
    if json:
        print_json(outcomes)
    else:
        for line in _lines(outcomes):
            click.echo(line)
    context.exit(FINDINGS if any(outcome.findings for outcome in outcomes) else 0)


def _lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    width = max(len(outcome.check) for outcome in outcomes)
    for outcome in outcomes:
        said = {
            "ok": f"ok: {outcome.about}",
            "skipped": f"not looked at: {outcome.skipped}",
            "findings": f"{len(outcome.findings)} found",
        }[outcome.state]
        yield f"{outcome.check:{width}}  {said}"
        yield from (f"    repair: {told}" for told in outcome.repairs)
        for finding in outcome.findings:
            yield f"    {finding.subject}: {finding.problem}"
            yield f"        means: {finding.meaning}"
            yield f"        mend:  {finding.remedy}"
