"""One notifier of several processes works at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from query.notify.deliver import Deliveries
from query.notify.run import LEASE_MS, Notifier
from tests.query.query_service import NOW, InProcessService, reused, start_service

Check = Callable[[], Awaitable[int]]


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def counting(counts: dict[str, int], name: str) -> Check:
    """A check that counts its calls."""

    async def check() -> int:
        counts[name] = counts.get(name, 0) + 1
        return 0

    return check


async def failing() -> int:
    raise ZeroDivisionError


def notifier(service: InProcessService, time: list[int], *checks: Check) -> Notifier:
    dependencies = structs.replace(service.dependencies, clock=lambda: time[0])
    notices = service.store.notices()
    return Notifier(dependencies, notices, "query-1", checks, Deliveries(dependencies, notices))


def test_the_process_with_the_lease_checks(service: InProcessService) -> None:
    counts: dict[str, int] = {}
    time = [NOW]

    async def tick(*notifiers: Notifier) -> None:
        for one in notifiers:
            await one.hold_lease()
            await one.check()

    first, second = (notifier(service, time, counting(counts, name)) for name in "ab")
    with asyncio.Runner() as runner:
        runner.run(tick(first, second))
        time[0] += LEASE_MS - 1
        runner.run(tick(second, first))
        assert counts == {"a": 2}

        time[0] += LEASE_MS  # the first one does not renew it
        runner.run(tick(second, first))
        assert counts == {"a": 2, "b": 1}


def test_a_stopped_process_gives_the_lease_back(service: InProcessService) -> None:
    counts: dict[str, int] = {}

    async def stop_after_a_check() -> None:
        checked = asyncio.Event()

        async def check() -> int:
            checked.set()
            return 0

        first, second = (notifier(service, [NOW], one) for one in (check, counting(counts, "b")))
        await first.hold_lease()
        running = asyncio.create_task(first.run())
        await checked.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await second.hold_lease()
        await second.check()

    asyncio.run(stop_after_a_check())

    assert counts == {"b": 1}


def test_a_failing_check_keeps_no_other_from_running(service: InProcessService) -> None:
    counts: dict[str, int] = {}
    one = notifier(service, [NOW], failing, counting(counts, "reports"))

    async def check() -> None:
        await one.hold_lease()
        with pytest.raises(ZeroDivisionError):
            await one.check()

    asyncio.run(check())

    assert counts == {"reports": 1}
