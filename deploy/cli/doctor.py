"""`tidemark doctor`: check the installation; each finding names the command that fixes it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from deploy.cli.context import CliContext, as_json, print_json

if TYPE_CHECKING:
    from deploy.local.doctor import CheckResult

EXIT_FINDINGS = 1
EXIT_NOT_CHECKED = 2
MAX_REASON_LENGTH = 500


@click.command()
@click.option("--repair", is_flag=True, help="Repair what can be repaired safely, and report it.")
@click.option("--checksums", is_flag=True, help="Read every data file and verify its checksum.")
@click.option(
    "--accept", metavar="FINDING", help="Accept a finding that cannot be repaired, by its id."
)
@click.option("--reason", help="Why it is accepted; recorded in the audit trail.")
@as_json
@click.pass_context
def doctor(
    context: click.Context, /, repair: bool, checksums: bool, json: bool, **more: str | None
) -> None:
    """Check the installation: each finding names its consequence and the command that fixes it.

    Changes nothing without --repair. Works whether or not Tidemark is running.
    An accepted finding is not reported again unless it grows.
    Exit code: 0 no findings, 1 findings, 2 the checks could not run.
    """
    # Imported here: `doctor --help` needs no client of anything that is checked.
    from deploy.local.accepted_findings import accepted_findings
    from deploy.local.doctor import CHECKS, CheckContext, run_checks

    tidemark = context.find_object(CliContext)
    assert tidemark  # noqa: S101 - for the type checker
    settings = tidemark.settings
    if not settings.data.is_dir():
        click.echo(
            f"tidemark: there is no data folder {settings.data}; set TIDEMARK_DATA_DIR, or create "
            "it with `tidemark up`",
            err=True,
        )
        context.exit(EXIT_NOT_CHECKED)
    scope = CheckContext(settings, checksums, accepted_findings(settings))
    outcomes = run_checks(CHECKS, scope, repair)
    if more["accept"]:
        _accept(tidemark, outcomes, more["accept"], more["reason"])
        return
    if json:
        print_json(outcomes)
    else:
        for line in _report_lines(outcomes):
            click.echo(line)
    context.exit(EXIT_FINDINGS if any(outcome.findings for outcome in outcomes) else 0)


def _accept(
    tidemark: CliContext, outcomes: Sequence["CheckResult"], finding_id: str, reason: str | None
) -> None:
    from deploy.local.accepted_findings import NotAccepted, accept

    if not reason or not reason.strip():
        raise click.UsageError("--accept needs --reason, which is recorded in the audit trail")
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    with tidemark.open_registry() as store:
        try:
            finding = accept(store, findings, finding_id, reason.strip()[:MAX_REASON_LENGTH])
        except NotAccepted as error:
            raise click.UsageError(str(error)) from None
    click.echo(f"accepted: {finding.subject}: {finding.problem}")


def _report_lines(outcomes: Sequence["CheckResult"]) -> Iterator[str]:
    width = max(len(outcome.check) for outcome in outcomes)
    for outcome in outcomes:
        summary = {
            "ok": f"ok: {outcome.about}{_but_for(outcome.accepted)}",
            "skipped": f"skipped: {outcome.skipped}",
            "findings": f"{len(outcome.findings)} findings",
        }[outcome.state]
        yield f"{outcome.check:{width}}  {summary}"
        yield from (f"    repair: {repair}" for repair in outcome.repairs)
        for finding in outcome.findings:
            yield f"    {finding.subject}: {finding.problem}"
            yield f"        means: {finding.meaning}"
            yield f"        fix:   {finding.remedy}"
            if finding.id:
                yield f"        accept: tidemark doctor --accept {finding.id} --reason TEXT"


def _but_for(accepted: Sequence[object]) -> str:
    return f", except {len(accepted)} accepted" if accepted else ""
