"""Checks of the tables: their logs, and the data files that these name."""

from collections.abc import Iterable
from contextlib import closing

from deploy.local.doctor.check import Check, NotLooked, Scope
from deploy.local.enrichment_lookups import lookups_of
from schemas.lake.table_location import folder_of
from schemas.registry import Store
from schemas.runtime.finding import Finding


def bad_entries(scope: Scope) -> Iterable[Finding]:
    """Log entries that are missing, empty or torn."""
    from stream.recovery.diagnosis import check_logs  # with the table format

    _local(scope)
    return check_logs(scope.settings)


def mend_entry(scope: Scope, finding: Finding) -> str | None:
    """Put it aside or back from its copy."""
    from stream.recovery.diagnosis import mend_log

    return mend_log(scope.settings, finding)


def bad_files(scope: Scope) -> Iterable[Finding]:
    """Data files that are missing or damaged."""
    from stream.recovery.diagnosis import check_files

    _local(scope)
    return check_files(scope.settings, scope.checksums)


def store_again(scope: Scope, finding: Finding) -> str | None:
    """Take the file out and store its rows again, when Kafka gives back every one."""
    from stream.recovery.file_repair import NotRepaired, repair
    from stream.runtime.errors import Surprise

    with closing(Store(scope.settings.registry_url)) as store:
        try:
            return str(repair(scope.settings, finding.subject, lookups_of(scope.settings, store)))
        except (NotRepaired, Surprise) as refused:
            return f"{finding.subject}: not repaired: {refused}"


def unbalanced(scope: Scope) -> Iterable[Finding]:
    """Numbers of rows that the ledger counted otherwise."""
    from stream.recovery.diagnosis import check_balance

    return check_balance(scope.settings)


def never_received(scope: Scope) -> Iterable[Finding]:
    """What collectors acknowledged and no worker ever received."""
    from stream.recovery.reconciliation import NotLevel, findings, missing

    try:
        return list(findings(missing(scope.settings)))
    except NotLevel as late:
        raise NotLooked(str(late)) from None


def _local(scope: Scope) -> None:
    if folder_of(scope.settings.lake_url) is None:
        raise NotLooked("the lake is not on a local disk")


LOGS = Check("logs", "every log entry is there and whole", bad_entries, mend_entry)
FILES = Check(
    "data files", "every data file is there, as large as it was written", bad_files, store_again
)
BALANCE = Check("ledger", "tables and quarantine have the rows that the ledger counted", unbalanced)
ACKNOWLEDGED = Check(
    "acknowledged", "what collectors acknowledged was received by a worker", never_received
)
