"""Whether vacuum has deleted data files of an old version.

Prepared results, remembered rows and local copies of an object store would answer without them.
"""

import os
from collections import defaultdict
from collections.abc import Iterable

from schemas.lake.delta_table import TableVersion
from schemas.lake.object_store import ObjectFolder, is_object_store


def lacks_files(lake: str, version: TableVersion, newest: TableVersion) -> bool:
    """Whether a data file of a version is gone; only those that were replaced since are looked for.

    One request to an object store for each of their folders; StoreUnreachable.
    """
    kept = {data_file.path for data_file in newest.data_files}
    replaced = [f.path for f in version.data_files if f.path not in kept]
    if is_object_store(lake):
        return _lacks_objects(ObjectFolder(lake), replaced)
    return not all(map(os.path.exists, replaced))


def _lacks_objects(store: ObjectFolder, urls: Iterable[str]) -> bool:
    by_folder: dict[str, set[str]] = defaultdict(set)
    for url in urls:
        folder, _, name = url.removeprefix(f"{store.url}/").rpartition("/")
        by_folder[folder].add(name)
    return any(names - {*store.names(folder)} for folder, names in by_folder.items())
