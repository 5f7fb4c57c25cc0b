"""Notifier: checks alerts and reports, and delivers what they tell, while it has the lease.

Every query process runs one; the lease, a row of the registry, lets one of them work at a time. It
saves work and nothing else: what is told once is decided by the transactions of `RegistryNotices`.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from query.dependencies import QueryDependencies
from query.notify.deliver import Deliveries
from schemas.errors import ApiError
from schemas.registry.notices import RegistryNotices

log = logging.getLogger(__name__)

LEASE = "notifier"
LEASE_MS, RENEW_SECONDS = 30_000, 5.0
TICK_SECONDS = 2.0
KEPT_MS = 90 * 86_400_000
"""How long notices and what became of them are kept."""
FORGET_SECONDS = 3600.0

Work = Callable[[], Awaitable[int]]


class Notifier:
    """Runs until cancelled; a failure is logged once, and tried again."""

    def __init__(
        self,
        dependencies: QueryDependencies,
        notices: RegistryNotices,
        name: str,
        checks: Sequence[Work],
        deliveries: Deliveries,
    ) -> None:
        self._dependencies = dependencies
        self._notices = notices
        self._holder = f"{name[:40]}-{secrets.token_hex(8)}"
        self._leads = False
        self._checks = checks
        self._deliveries = deliveries

    async def run(self) -> None:
        """Renew the lease, check and deliver beside each other: a slow receiver delays no check."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._repeat(self.hold_lease, RENEW_SECONDS))
                tasks.create_task(self._repeat(self.check, TICK_SECONDS))
                tasks.create_task(self._repeat(self.deliver, TICK_SECONDS))
                tasks.create_task(self._repeat(self._forget, FORGET_SECONDS))
        finally:
            if self._leads:
                with suppress(Exception):
                    self._notices.release_lease(LEASE, self._holder)

    async def _repeat(self, work: Callable[[], Awaitable[object]], seconds: float) -> None:
        reported = ""
        while True:
            try:
                await work()
                reported = ""
            except ApiError as error:
                if error.message != reported:
                    log.warning("notifier waits", extra={"reason": error.message})
                reported = error.message
            except Exception:  # one alert or report must not end all others
                log.exception("notifier failed")
            await asyncio.sleep(seconds)

    async def hold_lease(self) -> None:
        """Take or renew the lease; ApiError while the registry is away."""
        now = self._dependencies.clock()
        try:
            self._leads = await self._dependencies.in_registry(
                lambda: self._notices.hold_lease(LEASE, self._holder, now, LEASE_MS)
            )
        except ApiError:
            self._leads = False
            raise

    async def check(self) -> None:
        """Check what is due; a failure of alerts delays no report."""
        if not self._leads:
            return
        checks = (check() for check in self._checks)
        for outcome in await asyncio.gather(*checks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def deliver(self) -> None:
        """Deliver until nothing is due."""
        if not self._leads:
            return
        while await self._deliveries.deliver_due():
            pass

    async def _forget(self) -> None:
        if self._leads:
            before = self._dependencies.clock() - KEPT_MS
            await self._dependencies.in_registry(lambda: self._notices.forget(before))
