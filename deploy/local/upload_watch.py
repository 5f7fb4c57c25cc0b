"""Runs the importer of uploaded files while there are any: it needs memory only then."""

import asyncio
import sys

from deploy.local.processes.process import ProcessSpec, ShutdownStage
from deploy.local.processes.readiness import heartbeat_ready
from deploy.local.processes.supervisor import Supervisor
from schemas.runtime.settings import Settings
from schemas.runtime.uploads import uploads_folder

NAME = "importer"
POLL_SECONDS = 1.0


async def run_importer_when_needed(settings: Settings, supervisor: Supervisor) -> None:
    """Follow the folder of uploaded files until cancelled."""
    folder = uploads_folder(settings.data)
    while True:
        is_needed = folder.is_dir() and any(folder.iterdir())
        is_running = any(child.spec.name == NAME for child in supervisor.processes)
        if is_needed and not is_running:
            supervisor.add(importer_spec(settings))
        elif is_running and not is_needed:
            await supervisor.remove(NAME)
        await asyncio.sleep(POLL_SECONDS)


def importer_spec(settings: Settings) -> ProcessSpec:
    """The process; killed at any point, the next one goes on where it stopped."""
    return ProcessSpec(
        name=NAME,
        argv=(sys.executable, "-m", "deploy.importer.uploads"),
        stage=ShutdownStage.COLLECT,
        is_ready=heartbeat_ready(settings.data / "run", NAME),
        required=False,
    )
