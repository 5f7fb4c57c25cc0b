"""Check and its runner: each check isolated, with optional repair.

A check yields findings, and may be able to repair one. A check that raises an error becomes a
finding itself, and the others still run; a check that does not apply now raises `CheckSkipped`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings

FULL_DISK = "disk"
"""Name of the check whose finding may explain those of others."""
STORE = "object store"
"""Name of the check without which those with `needs_store` are not run."""
STORE_AWAY = "not checked: the object store cannot be read, see above"


class CheckSkipped(Exception):
    """The check, or the rest of it, does not apply now; the message says why."""


class CheckContext(Struct, frozen=True):
    """What the checks examine, and how thoroughly."""

    settings: Settings
    checksums: bool = False
    """Read every data file and verify its checksum."""
    accepted: frozenset[str] = frozenset()
    """Ids of accepted findings."""
    store_away: bool = False
    """The object store of the lake cannot be read."""


class Check(Struct, frozen=True):
    """One check of the installation."""

    name: str
    summary: str
    """What is true when there are no findings, in a few words."""
    run: Callable[[CheckContext], Iterable[Finding]]
    repair: Callable[[CheckContext, Finding], str | None] | None = None
    """Repairs one finding if that is safe, and returns what it did; None when it did nothing."""
    of_full_disk: Callable[[Finding], bool] = lambda finding: False  # noqa: ARG005
    """Whether a full disk may be the cause of this finding."""
    needs_store: bool = False
    """Whether all that it checks is read from the lake."""


class CheckResult(Struct, frozen=True, rename="camel"):
    """The result of one check."""

    check: str
    about: str
    state: Literal["ok", "findings", "skipped"]
    skipped: str | None = None
    findings: tuple[Finding, ...] = ()
    repairs: tuple[str, ...] = ()
    """What `--repair` did; `findings` are those that remain."""
    accepted: tuple[Finding, ...] = ()
    """Findings that an operator has accepted."""


def run_checks(
    checks: Sequence[Check], scope: CheckContext, repair: bool = False
) -> list[CheckResult]:
    """Run all checks; with `repair`, repair what is safe and check again."""
    outcomes: list[CheckResult] = []
    for check in checks:
        outcomes.append(_run_and_repair(check, scope, repair))
        if check.name == STORE and outcomes[-1].state == "findings":
            scope = structs.replace(scope, store_away=True)
    return fold_full_disk(checks, outcomes)


def _run_and_repair(check: Check, scope: CheckContext, repair: bool) -> CheckResult:
    outcome = _run_check(check, scope)
    if not repair or check.repair is None or not outcome.findings:
        return outcome
    repaired: list[str] = []
    for finding in outcome.findings:
        try:
            report = check.repair(scope, finding)
        except Exception as error:
            report = f"{finding.subject}: not repaired: {_reason(error)}"
        if report:
            repaired.append(report)
    return _run_check(check, scope, tuple(repaired))


def _run_check(check: Check, scope: CheckContext, repairs: tuple[str, ...] = ()) -> CheckResult:
    findings: list[Finding] = []
    try:
        if check.needs_store and scope.store_away:
            raise CheckSkipped(STORE_AWAY)
        findings.extend(check.run(scope))
    except CheckSkipped as skipped:
        if not findings:
            return CheckResult(check.name, check.summary, "skipped", str(skipped), repairs=repairs)
    except Exception as error:
        findings.append(
            Finding(
                subject=check.name,
                problem=f"the check itself failed: {_reason(error)}",
                meaning="The state of this part is unknown; the other checks were run.",
                remedy="fix what the message names, then run tidemark doctor again",
            )
        )
    accepted = tuple(finding for finding in findings if finding.id in scope.accepted)
    left = tuple(finding for finding in findings if finding.id not in scope.accepted)
    return outcome_of(check.name, check.summary, left, repairs, accepted)


def fold_full_disk(checks: Sequence[Check], outcomes: Sequence[CheckResult]) -> list[CheckResult]:
    """Merge findings that a full disk explains into the finding of the full disk."""
    full = next(
        (outcome for outcome in outcomes if outcome.check == FULL_DISK and outcome.findings), None
    )
    if full is None:
        return list(outcomes)
    followed: list[Finding] = []
    folded: list[CheckResult] = []
    for check, outcome in zip(checks, outcomes, strict=True):
        follows = tuple(finding for finding in outcome.findings if check.of_full_disk(finding))
        followed += follows
        left = tuple(finding for finding in outcome.findings if finding not in follows)
        result = structs.replace(outcome, findings=left)
        if follows and not left:
            because = f"{len(follows)} findings are explained by the full disk, see above"
            result = structs.replace(result, state="skipped", skipped=because)
        folded.append(result)
    if followed:
        report = "; ".join(f"{finding.subject} {finding.problem}" for finding in followed)
        first, *others = full.findings
        meaning = f"{first.meaning} It may also be the cause of: {report}."
        findings = (structs.replace(first, meaning=meaning), *others)
        folded[folded.index(full)] = structs.replace(full, findings=findings)
    return folded


def outcome_of(
    check: str,
    about: str,
    findings: tuple[Finding, ...],
    repairs: tuple[str, ...] = (),
    accepted: tuple[Finding, ...] = (),
) -> CheckResult:
    """The result of a check that ran."""
    state: Literal["ok", "findings"] = "findings" if findings else "ok"
    return CheckResult(check, about, state, None, findings, repairs, accepted)


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
