"""Gauges of every process: whether it is ready, its disk, and the damage reports in its folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

from schemas.lake.damage_reports import DamageReports
from schemas.telemetry.instruments import gauge

UNKNOWN = float("nan")
"""The value of a gauge that cannot be read: it fulfils no condition of an alert."""


def add_process_gauges(data: Path, is_ready: Callable[[], bool]) -> None:
    """Add them to the metrics of this process."""
    gauge("tidemark_ready", "1 while /readyz of this process responds with 200", is_ready)
    gauge(
        "tidemark_disk_free_bytes",
        "Free bytes on the disk that holds the data folder",
        lambda: free_bytes(data),
    )
    reports = DamageReports(data)
    gauge(
        "tidemark_damaged_files",
        "Data files that are reported as damaged in this data folder; queries that need them fail",
        lambda: len(reports.files()),
    )


def free_bytes(folder: Path) -> float:
    """Free bytes on the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return UNKNOWN
