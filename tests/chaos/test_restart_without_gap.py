"""The only collector and the only query service are restarted: no request is refused."""

import threading
from pathlib import Path
from typing import Self

from tests.chaos.faults import settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender
from tests.chaos.test_faults import restarted
from tests.flow.tenant import Tenant
from tests.installation import eventually

SECONDS = 180.0


class Questions:
    """Asks one query after the other, on connections of their own, and records what comes."""

    def __init__(self, tenant: Tenant) -> None:
        self.statuses: list[int] = []
        self._tenant = tenant
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for(self, more: int) -> None:
        """Return when so many more were answered."""
        goal = len(self.statuses) + more
        eventually(lambda: len(self.statuses) >= goal, SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.statuses.append(self._tenant.ask("summary").status)
            except OSError:
                self.statuses.append(0)


def test_no_request_is_refused_while_the_only_process_restarts(tmp_path: Path) -> None:
    with stack_with_short_sessions(tmp_path, collectors=1, queries=1, drain_seconds=2.0) as stack:
        tenant = Tenant.create(stack)
        eventually(lambda: tenant.ask("summary").status == 200, SECONDS)
        before = stack.pids()
        with LoadSender(stack.collect_url, tenant.website.id) as load, Questions(tenant) as asked:
            load.wait_for(200)
            asked.wait_for(5)
            for name in ("collector-1", "query-1"):
                assert f"{name} is ready again" in restarted(stack, name)
            load.wait_for(200)
            asked.wait_for(5)
        settle(tenant, load, SECONDS)

        assert load.unknown == set()
        assert {*asked.statuses} == {200}
        after = stack.pids()
        assert {*after} == {*before}
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {"collector-1", "query-1"}
