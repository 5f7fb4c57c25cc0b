"""Faults of processes, and what must hold after them."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.chaos.recorded_load import (
    LoadSender,
    event_id_counts,
)
from tests.cluster.parts import runs_on_cluster, stack_settings
from tests.flow.tenant import Tenant
from tests.installation import Installation, eventually

SESSION_SECONDS = 6
SEED = int(os.environ.get("TIDEMARK_CHAOS_SEED", "1"))
"""Of what happens in random order."""
SECONDS = float(os.environ.get("TIDEMARK_CHAOS_SECONDS", "45"))
"""For how long it happens."""
FIGURES = Counter[str]()
"""What the running test counted; result_lines.py prints it as a line of JSON."""

DRAIN_SECONDS = 240 if runs_on_cluster() else 60
"""Tables in an object store are opened by requests, and three nodes elect leaders."""


def settle(tenant: Tenant, load: LoadSender, seconds: float = DRAIN_SECONDS) -> None:
    """Everything acknowledged is stored once; of the rest nothing is stored twice."""
    lake = tenant.stack.settings.lake_url
    eventually(
        lambda: load.acknowledged <= set(event_id_counts(lake, tenant.website.id)),
        seconds=seconds,
    )
    found = event_id_counts(lake, tenant.website.id)
    FIGURES.update(
        acknowledged=len(load.acknowledged),
        unknown=len(load.unknown),
        lost=len(load.acknowledged - found.keys()),
        doubled=sum(times > 1 for times in found.values()),
    )

    assert load.acknowledged - set(found) == set()
    assert set(found) - load.acknowledged <= load.unknown
    assert [i for i, times in found.items() if times != 1] == []


def hit(stack: Installation, name: str, number: signal.Signals) -> int:
    """Send the signal to a process as soon as it is there; its pid."""

    def signaled() -> int | None:
        with suppress(KeyError, ProcessLookupError):  # it is being started again
            return stack.signal(name, number)
        return None

    pid = eventually(signaled)
    assert pid is not None
    FIGURES["faults"] += 1
    FIGURES[f"{name} {'killed' if number is signal.SIGKILL else 'frozen'}"] += 1
    return pid


@contextmanager
def stack_with_short_sessions(folder: Path, **settings: Any) -> Iterator[Installation]:
    """Processes whose failure is noticed within seconds, and that compact often."""
    own = {
        "session_seconds": SESSION_SECONDS,
        "batch_seconds": 0.5,
        "small_parts": 10,
        "compact_seconds": 2.0,
        **settings,
    }
    with stack_settings(folder) as parts, Installation(folder, **{**parts, **own}) as stack:
        yield stack
