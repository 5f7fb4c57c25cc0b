"""The keeper's work on the data files of a service under test: derives, deletes imports."""

from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, DerivedTable, Table
from stream.maintenance.derivation import derive_file
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.oracle.service import Service


def prepare(service: Service, derived: DerivedTable) -> int:
    """Compute what is missing for all data files, also for those that will be merged."""
    settings = Settings(data_dir=str(service.root))
    events, target = LakeTable(settings, EVENTS), LakeTable(settings, derived.table)
    old = live_data_files(target.handle, derived.table)
    sources = live_data_files(events.handle, EVENTS)
    new = [derive_file(derived, events, target, file) for file in sources]
    kept = {file.path for file in new} & {file.path for file in old}
    target.replace_files(
        {file.path: file.day.isoformat() for file in old if file.path not in kept},
        [file for file in new if file.path not in kept],
    )
    return len(new)


def data_files(service: Service, stored: Table = EVENTS) -> set[str]:
    """The data files of a table in the newest version."""
    handle = LakeTable(Settings(data_dir=str(service.root)), stored).handle
    return {file.path for file in live_data_files(handle, stored)}


def remove(service: Service, paths: set[str], stored: Table = EVENTS) -> None:
    """Remove whole data files, as the deletion of an import does."""
    table = LakeTable(Settings(data_dir=str(service.root)), stored)
    live = live_data_files(table.handle, stored)
    table.replace_files({f.path: f.day.isoformat() for f in live if f.path in paths}, [])
