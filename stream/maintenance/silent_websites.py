"""Websites that stopped sending: the keeper counts them for an alert and names them in its log.

A website that sent events in 24 hours of the last two weeks is regular. It is silent when nothing
came for three hours, and for twice its longest pause in these weeks: no night or weekend counts.
"""

import logging
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_table import UnreadableTable, open_table, read_version
from schemas.registry import DatabaseError, RegistryStore, first_line
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER
from schemas.telemetry.instruments import SILENT_WEBSITES
from stream.storage.table_reader import read_batches

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 900.0
HOUR_MS = 3_600_000
WINDOW_MS = 14 * 24 * HOUR_MS
REGULAR_HOURS = 24
MIN_SILENCE_MS = 3 * HOUR_MS
PAUSE_FACTOR = 2
COLUMNS = ("ts", "topic", "subject_id", "received")


def watch_websites(settings: Settings, stop: threading.Event) -> None:
    """Count silent websites every quarter of an hour until stopped; log each of them once."""
    logged: Collection[str] = ()
    logged_error = ""
    while True:
        try:
            silent = silent_websites(settings, now_ms())
        except DatabaseError as error:
            problem = first_line(error)
        except (OSError, pa.ArrowException, DeltaError, UnreadableTable) as error:
            problem = str(error)
        else:
            problem = ""
            SILENT_WEBSITES.set(len(silent))
            for website_id in sorted(silent.keys() - {*logged}):
                last = format_instant(silent[website_id])
                log.warning("website stopped sending", extra={"website": website_id, "since": last})
            logged = silent.keys()
        if problem and problem != logged_error:
            log.warning("silent websites not counted", extra={"reason": problem})
        logged_error = problem
        if stop.wait(INTERVAL_SECONDS):
            return


def silent_websites(settings: Settings, at_ms: int) -> Mapping[str, int]:
    """Since when each silent website of the registry has sent nothing, Unix milliseconds."""
    with closing(RegistryStore(settings.registry_url)) as store:
        registered = {website.id for website in store.read_contents().websites}
    return {
        website_id: since
        for website_id, hours in _hours_with_events(settings, at_ms).items()
        if website_id in registered and (since := silent_since(hours, at_ms)) is not None
    }


def silent_since(hours: Collection[int], at_ms: int) -> int | None:
    """The end of the last of these hours with events, when the silence since then is unusual."""
    ordered = sorted(hours)
    if len(ordered) < REGULAR_HOURS:
        return None
    pauses = (after - before - HOUR_MS for before, after in pairwise(ordered))
    since = ordered[-1] + HOUR_MS
    return since if at_ms - since > max(MIN_SILENCE_MS, PAUSE_FACTOR * max(pauses)) else None


def _hours_with_events(settings: Settings, at_ms: int) -> Mapping[str, set[int]]:
    """The hours of the last weeks in which events were received, Unix milliseconds, by website."""
    since_ms = at_ms - WINDOW_MS
    handle = open_table(settings.lake_url, LEDGER)
    if handle is None:
        return {}
    data_files = read_version(handle, LEDGER).data_files
    files = [file for file in data_files if file.may_contain(None, since_ms, at_ms)]
    is_event = pc.field("topic") == settings.topic(CUSTOM_EVENT.topic)
    condition = is_event & (pc.field("received") > 0)
    hours: dict[str, set[int]] = {}
    for batch in read_batches(handle, LEDGER, files, COLUMNS, condition):
        rows = pa.Table.from_batches([batch]).group_by(["subject_id", "ts"]).aggregate([])
        instants = rows["ts"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
        for subject_id, instant in zip(rows["subject_id"].to_pylist(), instants, strict=True):
            if subject_id and instant >= since_ms:
                hours.setdefault(subject_id, set()).add(instant)
    return hours
