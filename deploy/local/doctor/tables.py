"""Checks of the tables: Delta logs, data files, ledger, acknowledged counts."""

from collections.abc import Iterable
from contextlib import closing

from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from schemas.lake.table_location import local_folder
from schemas.registry import RegistryStore, Snapshot
from schemas.runtime.finding import Finding


def find_damaged_entries(scope: CheckContext) -> Iterable[Finding]:
    """Delta log entries that are missing, empty or truncated."""
    from stream.recovery.diagnosis import check_logs  # with the table format

    _require_local_lake(scope)
    return check_logs(scope.settings)


def repair_entry(scope: CheckContext, finding: Finding) -> str | None:
    """Restore the log entry from its copy, or move it aside when there is none."""
    from stream.recovery.diagnosis import repair_finding

    return repair_finding(scope.settings, finding)


def find_damaged_files(scope: CheckContext) -> Iterable[Finding]:
    """Data files that are missing or damaged."""
    from stream.recovery.diagnosis import check_files

    _require_local_lake(scope)
    return check_files(scope.settings, scope.checksums)


def repair_data_file(scope: CheckContext, finding: Finding) -> str | None:
    """Replace the file with its rows, read again from Kafka, if Kafka still has all of them."""
    from stream.enrich.rules.registry_lookups import registry_lookups  # with all parsers
    from stream.recovery.file_repair import NotRepaired, repair
    from stream.runtime.errors import FatalError

    with closing(RegistryStore(scope.settings.registry_url)) as store:
        lookups = registry_lookups(scope.settings, Snapshot.read(store))
        try:
            return str(repair(scope.settings, finding.subject, lookups))
        except (NotRepaired, FatalError) as error:
            return f"{finding.subject}: not repaired: {error}"


def find_ledger_mismatches(scope: CheckContext) -> Iterable[Finding]:
    """Tables whose row count differs from the ledger."""
    from stream.recovery.ledger_balance import check_balance

    return check_balance(scope.settings)


def find_lost_items(scope: CheckContext) -> Iterable[Finding]:
    """Items that collectors acknowledged and no worker received."""
    from stream.recovery.reconciliation import WorkersBehind, findings, missing_items

    try:
        return list(findings(missing_items(scope.settings)))
    except WorkersBehind as behind:
        raise CheckSkipped(str(behind)) from None


def _require_local_lake(scope: CheckContext) -> None:
    if local_folder(scope.settings.lake_url) is None:
        raise CheckSkipped("the lake is not on a local disk")


LOGS_CHECK = Check(
    "logs", "every Delta log entry is present and intact", find_damaged_entries, repair_entry
)
DATA_FILES_CHECK = Check(
    "data files",
    "every data file is present and has its size",
    find_damaged_files,
    repair_data_file,
)
LEDGER_CHECK = Check(
    "ledger",
    "row counts of tables and quarantine match the ledger",
    find_ledger_mismatches,
    needs_store=True,
)
ACKNOWLEDGED_CHECK = Check(
    "acknowledged",
    "every acknowledged item was received by a worker",
    find_lost_items,
    needs_store=True,
)
