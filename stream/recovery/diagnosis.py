"""What is wrong with the tables' logs and data files, as findings of `tidemark doctor`."""

from collections.abc import Iterator
from pathlib import Path

from schemas.kinds import KINDS
from schemas.lake.committed_offsets import log_folder
from schemas.lake.damage_reports import DamageReports
from schemas.lake.data_files import file_problem, frame_problem
from schemas.lake.delta_log import damaged_entries
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.lake.table_location import local_folder, table_url
from schemas.runtime.finding import Finding, finding_id
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE, TABLES
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_log, restore_entries
from stream.writing.ledger_repair import all_missing_ranges, ledger_counts, quarantine_counts

REPAIR_COMMAND = "tidemark doctor --repair"
MOST_ENTRIES = 10
"""Findings about one log; of further entries the number is told."""


def check_logs(settings: Settings) -> Iterator[Finding]:
    """Entries since the last checkpoint that are missing, empty, torn or incomplete."""
    for table in TABLES:
        folder = log_folder(settings.lake_url, table)
        found = damaged_entries(folder) if folder else ()
        for broken in found[:MOST_ENTRIES]:
            what = "checkpoint" if broken.checkpoint else "log entry"
            more = len(found) - MOST_ENTRIES if broken is found[:MOST_ENTRIES][-1] else 0
            yield Finding(
                subject=f"{folder}/{broken.name}",
                problem=f"the {what} {broken.problem}"
                + (f", and so are {more:,} more" if more > 0 else ""),
                meaning=f"Nobody opens table '{table.name}': what is sent for it waits in Kafka, "
                "questions about it fail. Opened without this entry it would miss rows.",
                remedy=f"{REPAIR_COMMAND} (puts it back from its copy, if there is one); else "
                f"put the file "
                "back from a backup of the lake",
            )


def repair_finding(settings: Settings, finding: Finding) -> str | None:
    """Put the entry aside or back, where that is safe."""
    for table in TABLES:
        folder = log_folder(settings.lake_url, table)
        if not folder or not finding.subject.startswith(f"{folder}/"):
            continue
        if done := restore_entries(folder) or repair_log(folder):
            return f"{', '.join(path.name for path in done)} of table '{table.name}' mended"
    return None


def check_files(settings: Settings, checksums: bool = False) -> Iterator[Finding]:
    """Live data files that are missing, noted as damaged or not as they were written.

    With `checksums` all are read.
    """
    check = file_problem if checksums else frame_problem
    noted = DamageReports(settings.data).files()
    for table in TABLES:
        root = local_folder(table_url(settings.lake_url, table))
        if root is None:
            continue
        try:
            handle = open_table(settings.lake_url, table)
        except UnreadableTable:
            continue  # told of by the check of the logs
        for piece in live_data_files(handle, table) if handle else ():
            note = noted.get(Path(piece.path).name)
            if problem := check(root / piece.path, piece.size) or (note and note.problem):
                yield file_finding(table.name, piece, problem)


def file_finding(table: str, piece: LiveDataFile, problem: str) -> Finding:
    """A damaged data file as a finding."""
    return Finding(
        subject=f"{table}/{piece.path}",
        problem=f"the data file {problem}; it holds {piece.rows} rows",
        meaning=f"Questions that need rows of table '{table}' received on {piece.day} fail; all "
        "others are answered, and storing goes on.",
        remedy=f"{REPAIR_COMMAND} (stores its rows again from Kafka, while that has all of "
        f"them); else put "
        "the file back from a backup of the lake, or give the rows up: "
        f"tidemark repair {table}/{piece.path} --accept-loss",
    )


def check_balance(settings: Settings) -> Iterator[Finding]:
    """Tables and quarantine that do not have as many rows as the ledger counted."""
    if any(open_table(settings.lake_url, side) is None for side in (LEDGER, QUARANTINE)):
        return
    for kind in KINDS:
        topic = settings.topic(kind.topic)
        if open_table(settings.lake_url, kind.table) is None:
            continue
        main = LakeTable(settings, kind.table)  # first: the ledger is not behind it, unless it lost
        if late := _behind(settings, topic, main):
            yield late
            continue
        live = [
            piece for piece in live_data_files(main.handle, kind.table) if not piece.is_imported
        ]
        told = ledger_counts(settings, topic, main)
        there = {
            "stored": sum(piece.rows for piece in live),
            **quarantine_counts(settings, topic, main),
        }
        for name, rows in there.items():
            if rows != told[name]:
                where = kind.table.name if name == "stored" else QUARANTINE.name
                yield Finding(
                    subject=f"{where}, topic {topic}",
                    problem=f"{rows} rows are {name}, but the ledger counted {told[name]}",
                    meaning="Rows were lost, or counts of them: part of the lake is missing or of "
                    "another time than the rest.",
                    remedy="put the whole lake back from one backup; without one the rows that are "
                    "there are right, and nothing else is harmed: then accept it",
                    id=finding_id("unbalanced", where, topic, name, rows - told[name]),
                )


def _behind(settings: Settings, topic: str, main: LakeTable) -> Finding | None:
    """A ledger that lost its newest entries: what it counts is less until it is made up for."""
    missing = all_missing_ranges(settings, topic, main)
    if not missing:
        return None
    messages = sum(move.next - move.expected for _, move in missing.values())
    damage = DamageReports(settings.data)
    noted = [*damage.of_table(main.table.name).values(), *damage.of_table(QUARANTINE.name).values()]
    files = ", ".join(f"{note.table}/{note.path}" for note in noted[:MOST_ENTRIES])
    return Finding(
        subject=f"{LEDGER.name}, topic {topic}",
        problem=f"it is behind table '{main.table.name}' by {messages} messages"
        + (f", and it would be counted again from damaged data files: {files}" if noted else ""),
        meaning="The rows are stored and answered; only what was received, copied or quarantined "
        "of these messages is not counted, so nobody can say whether something is missing.",
        remedy=(f"{REPAIR_COMMAND} (mends the data files), then " if noted else "")
        + "restart Tidemark: a worker counts them again from the rows when it begins",
    )
