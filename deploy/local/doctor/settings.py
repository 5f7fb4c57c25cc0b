"""Checks of the settings: unknown variables, missing files, idle workers."""

import os
from collections.abc import Iterator

from deploy.local.doctor.check import Check, CheckContext
from schemas.runtime.environment import PREFIX, unknown_variables
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings

SETTINGS_COMMAND = "tidemark settings"


def find_setting_problems(scope: CheckContext) -> Iterator[Finding]:
    """Settings that have no effect or cannot work."""
    for sentence in unknown_variables(os.environ):
        yield Finding(
            subject=sentence.split(" ", 1)[0],
            problem=sentence,
            meaning="The default is used instead.",
            remedy=f"correct or unset the variable; {SETTINGS_COMMAND} lists all names",
        )
    yield from _missing_files(scope.settings)
    yield from _idle_workers(scope.settings)


def _missing_files(settings: Settings) -> Iterator[Finding]:
    for path in settings.geo_files if settings.geo else ():
        if not os.access(path, os.R_OK):
            yield Finding(
                subject=f"{PREFIX}GEO",
                problem=f"{path} cannot be read",
                meaning="Workers end with exit code 78 and store nothing, because a row stored "
                "without "
                "its location could not get it later.",
                remedy=f"put the file there, or unset {PREFIX}GEO",
            )


def _idle_workers(settings: Settings) -> Iterator[Finding]:
    if settings.workers > settings.partitions:
        idle = settings.workers - settings.partitions
        yield Finding(
            subject=f"{PREFIX}WORKERS",
            problem=f"{settings.workers} workers share {settings.partitions} partitions",
            meaning=f"{idle} of them are idle.",
            remedy=f"raise {PREFIX}PARTITIONS, or lower {PREFIX}WORKERS",
        )


SETTINGS_CHECK = Check("settings", "all settings are known and valid", find_setting_problems)
