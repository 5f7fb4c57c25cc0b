"""Damage of logs and data files as findings of `tidemark doctor`."""

from collections.abc import Iterator
from pathlib import Path

from schemas.kinds import TABLES, lake_tables
from schemas.lake.committed_offsets import log_folder
from schemas.lake.damage_reports import DamageReports
from schemas.lake.data_files import file_problem, frame_problem
from schemas.lake.delta_log import damaged_entries
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.lake.table_location import local_folder, table_url
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings
from schemas.tables import IMPORTED_TOTALS, LEDGER, QUARANTINE
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.storage.log_repair import repair_log, restore_entries

REPAIR_COMMAND = "tidemark doctor --repair"
MAX_ENTRIES = 10
"""Findings about one log; for further entries only their number is given."""

COPY_REMEDY = (
    "in a copy of a running lake it was replaced before it was copied: back up with "
    "`tidemark backup TARGET` instead, which needs no pause"
)
"""A plain copy outlasts the time for which replaced files stay."""

LOG_MEANING = (
    "Table '{}' is not opened: its messages wait in Kafka, and queries of it fail. Opened without "
    "this entry it would miss rows."
)
DERIVED_MEANING = "Queries take longer; their results are the same, as they read the source of it."


def check_logs(settings: Settings) -> Iterator[Finding]:
    """Entries since the last checkpoint that are missing, empty, torn or incomplete."""
    for table in lake_tables():
        folder = log_folder(settings.lake_url, table)
        entries = damaged_entries(folder) if folder else ()
        for index, entry in enumerate(entries[:MAX_ENTRIES], start=1):
            file = "checkpoint" if entry.checkpoint else "log entry"
            more = len(entries) - MAX_ENTRIES if index == MAX_ENTRIES else 0
            yield Finding(
                subject=f"{folder}/{entry.name}",
                problem=f"the {file} {entry.problem}"
                + (f", and so are {more:,} more" if more > 0 else ""),
                meaning=LOG_MEANING.format(table.name) if table in TABLES else DERIVED_MEANING,
                remedy=f"{REPAIR_COMMAND} (restores it from its copy, if there is one); else "
                + (
                    "restore a backup into another folder: tidemark restore TARGET --into FOLDER; "
                    f"{COPY_REMEDY}"
                    if table in TABLES
                    else f"delete the folder {folder.parent if folder else table.name}: "
                    "the keeper computes it again"
                ),
            )


def repair_finding(settings: Settings, finding: Finding) -> str | None:
    """Restore the log entry, or move it aside, where that is safe; says what was done."""
    for table in lake_tables():
        folder = log_folder(settings.lake_url, table)
        if not folder or not finding.subject.startswith(f"{folder}/"):
            continue
        if repaired := restore_entries(folder) or repair_log(folder):
            return f"{', '.join(path.name for path in repaired)} of table '{table.name}' repaired"
    return None


def check_files(settings: Settings, checksums: bool = False) -> Iterator[Finding]:
    """Data files that are missing, reported as damaged, or different from what was written.

    With `checksums` every file is read.
    """
    check = file_problem if checksums else frame_problem
    reports = DamageReports(settings.data).files()
    for table in lake_tables():
        root = local_folder(table_url(settings.lake_url, table))
        if root is None:
            continue
        try:
            handle = open_table(settings.lake_url, table)
        except UnreadableTable:
            continue  # reported by the check of the logs
        for data_file in live_data_files(handle, table) if handle else ():
            report = reports.get(Path(data_file.path).name)
            if problem := check(root / data_file.path, data_file.size) or (
                report and report.problem
            ):
                make = file_finding if table in TABLES else derived_file_finding
                yield make(table.name, data_file, problem)


def file_finding(table: str, data_file: LiveDataFile, problem: str) -> Finding:
    """A damaged data file as a finding."""
    command = f"tidemark repair {table}/{data_file.path} --accept-loss"
    from_backup = f"copy it from a backup (TARGET/files/{table}/{data_file.path})"
    if table in (LEDGER.name, QUARANTINE.name):
        meaning = "Storing and queries continue; counts of items that were not stored are missing."
        remedy = (
            f"{from_backup}, or give its rows up: {command}; "
            "what then differs between ledger and tables is a finding that can be accepted"
        )
    elif table == IMPORTED_TOTALS.name:
        meaning = "Queries of these imported totals fail; others succeed, and storing continues."
        remedy = (
            f"{from_backup}, or give its rows up: {command}; then undo the imports of totals, and "
            "import their files again"
        )
    else:
        meaning = (
            f"Queries that need rows of table '{table}' received on {data_file.day} fail; "
            "others succeed, and storing continues."
        )
        remedy = (
            f"{REPAIR_COMMAND} (stores its rows again from Kafka, while Kafka still has all of "
            f"them); else {from_backup}, or give its rows up: {command}"
        )
    if problem == "is missing":
        remedy = f"{COPY_REMEDY}; in any other lake {remedy}"
    return Finding(
        subject=f"{table}/{data_file.path}",
        problem=f"the data file {problem}; it holds {data_file.rows} rows",
        meaning=meaning,
        remedy=remedy,
    )


def derived_file_finding(table: str, data_file: LiveDataFile, problem: str) -> Finding:
    """A damaged data file of a derived table as a finding."""
    return Finding(
        subject=f"{table}/{data_file.path}",
        problem=f"the data file {problem}; it was computed from {data_file.day}",
        meaning=DERIVED_MEANING,
        remedy="none is needed: the keeper computes it again once a query or the scrub found this",
    )
