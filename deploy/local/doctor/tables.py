"""Checks of the tables: their logs, and the data files that these name."""

from collections.abc import Iterable
from contextlib import closing

from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from deploy.local.enrichment_lookups import enrichment_lookups
from schemas.lake.table_location import local_folder
from schemas.registry import RegistryStore
from schemas.runtime.finding import Finding


def find_damaged_entries(scope: CheckContext) -> Iterable[Finding]:
    """Log entries that are missing, empty or torn."""
    from stream.recovery.diagnosis import check_logs  # with the table format

    _require_local_lake(scope)
    return check_logs(scope.settings)


def repair_entry(scope: CheckContext, finding: Finding) -> str | None:
    """Put it aside or back from its copy."""
    from stream.recovery.diagnosis import repair_finding

    return repair_finding(scope.settings, finding)


def find_damaged_files(scope: CheckContext) -> Iterable[Finding]:
    """Data files that are missing or damaged."""
    from stream.recovery.diagnosis import check_files

    _require_local_lake(scope)
    return check_files(scope.settings, scope.checksums)


def repair_data_file(scope: CheckContext, finding: Finding) -> str | None:
    """Take the file out and store its rows again, when Kafka gives back every one."""
    from stream.recovery.file_repair import NotRepaired, repair
    from stream.runtime.errors import FatalError

    with closing(RegistryStore(scope.settings.registry_url)) as store:
        try:
            return str(
                repair(scope.settings, finding.subject, enrichment_lookups(scope.settings, store))
            )
        except (NotRepaired, FatalError) as refused:
            return f"{finding.subject}: not repaired: {refused}"


def find_ledger_mismatches(scope: CheckContext) -> Iterable[Finding]:
    """Numbers of rows that the ledger counted otherwise."""
    from stream.recovery.diagnosis import check_balance

    return check_balance(scope.settings)


def find_lost_items(scope: CheckContext) -> Iterable[Finding]:
    """What collectors acknowledged and no worker ever received."""
    from stream.recovery.reconciliation import WorkersBehind, findings, missing_items

    try:
        return list(findings(missing_items(scope.settings)))
    except WorkersBehind as late:
        raise CheckSkipped(str(late)) from None


def _require_local_lake(scope: CheckContext) -> None:
    if local_folder(scope.settings.lake_url) is None:
        raise CheckSkipped("the lake is not on a local disk")


LOGS_CHECK = Check("logs", "every log entry is there and whole", find_damaged_entries, repair_entry)
DATA_FILES_CHECK = Check(
    "data files",
    "every data file is there, as large as it was written",
    find_damaged_files,
    repair_data_file,
)
LEDGER_CHECK = Check(
    "ledger", "tables and quarantine have the rows that the ledger counted", find_ledger_mismatches
)
ACKNOWLEDGED_CHECK = Check(
    "acknowledged", "what collectors acknowledged was received by a worker", find_lost_items
)
