"""The runner of `tidemark doctor`: named checks, each isolated from the others.

A check yields findings and may know how to repair one of them. One that fails is a finding itself,
and the rest goes on; one that cannot look says so by `CheckSkipped`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings

FULL_DISK = "disk"
"""Name of the check whose finding explains others."""


class CheckSkipped(Exception):
    """There is nothing to look at now; the message says why. No finding."""


class CheckContext(Struct, frozen=True):
    """What is examined, and how closely."""

    settings: Settings
    checksums: bool = False
    """Read every data file and compare its checksum."""
    accepted: frozenset[str] = frozenset()
    """Ids of findings that an operator accepted."""


class Check(Struct, frozen=True):
    """One thing that is looked at."""

    name: str
    summary: str
    """What holds when there is no finding, in a few words."""
    run: Callable[[CheckContext], Iterable[Finding]]
    repair: Callable[[CheckContext, Finding], str | None] | None = None
    """Mends one finding if that is safe, and says what it did; None when it left it alone."""
    of_full_disk: Callable[[Finding], bool] = lambda finding: False  # noqa: ARG005
    """Whether a full disk, when there is one, explains this finding."""


class CheckResult(Struct, frozen=True, rename="camel"):
    """What one check found."""

    check: str
    about: str
    state: Literal["ok", "findings", "skipped"]
    skipped: str | None = None
    findings: tuple[Finding, ...] = ()
    repairs: tuple[str, ...] = ()
    """What `--repair` did; the findings are those that are left."""
    accepted: tuple[Finding, ...] = ()
    """What was found too, and is known to an operator."""


def run_checks(
    checks: Sequence[Check], scope: CheckContext, repair: bool = False
) -> list[CheckResult]:
    """Every check in turn; with `repair` what is safe is mended, and looked at again."""
    outcomes = [_run_and_repair(check, scope, repair) for check in checks]
    return fold_full_disk(checks, outcomes)


def _run_and_repair(check: Check, scope: CheckContext, repair: bool) -> CheckResult:
    outcome = _run_check(check, scope)
    if not repair or check.repair is None or not outcome.findings:
        return outcome
    done: list[str] = []
    for finding in outcome.findings:
        try:
            told = check.repair(scope, finding)
        except Exception as failed:
            told = f"{finding.subject}: not repaired: {_reason(failed)}"
        if told:
            done.append(told)
    return _run_check(check, scope, tuple(done))


def _run_check(check: Check, scope: CheckContext, repairs: tuple[str, ...] = ()) -> CheckResult:
    findings: list[Finding] = []
    try:
        findings.extend(check.run(scope))
    except CheckSkipped as skipped:
        return CheckResult(check.name, check.summary, "skipped", str(skipped), repairs=repairs)
    except Exception as failed:
        findings.append(
            Finding(
                subject=check.name,
                problem=f"the check itself failed: {_reason(failed)}",
                meaning="Whether this part is well is not known; the other checks were made.",
                remedy="mend what the message names, then run tidemark doctor again",
            )
        )
    accepted = tuple(one for one in findings if one.id in scope.accepted)
    left = tuple(one for one in findings if one.id not in scope.accepted)
    return outcome_of(check.name, check.summary, left, repairs, accepted)


def fold_full_disk(checks: Sequence[Check], outcomes: Sequence[CheckResult]) -> list[CheckResult]:
    """One finding for one full disk: what follows from it is told within, and not again."""
    full = next((one for one in outcomes if one.check == FULL_DISK and one.findings), None)
    if full is None:
        return list(outcomes)
    followed: list[Finding] = []
    folded: list[CheckResult] = []
    for check, outcome in zip(checks, outcomes, strict=True):
        follows = tuple(one for one in outcome.findings if check.of_full_disk(one))
        followed += follows
        left = tuple(one for one in outcome.findings if one not in follows)
        kept = structs.replace(outcome, findings=left)
        if follows and not left:
            because = f"{len(follows)} found that a full disk explains, told above"
            kept = structs.replace(kept, state="skipped", skipped=because)
        folded.append(kept)
    if followed:
        told = "; ".join(f"{one.subject} {one.problem}" for one in followed)
        first, *others = full.findings
        meaning = f"{first.meaning} It explains these, if they go with it: {told}."
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
    """The outcome of a check that could look."""
    state: Literal["ok", "findings"] = "findings" if findings else "ok"
    return CheckResult(check, about, state, None, findings, repairs, accepted)


def _reason(failed: Exception) -> str:
    text = str(failed).strip()
    return f"{type(failed).__name__}: {text.splitlines()[0]}" if text else type(failed).__name__
