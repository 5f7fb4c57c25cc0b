"""A notifier in a process that dies at one step: `python -m … FOLDER SMTP_PORT NOW STEP`.

Steps are counted: before and after each write of a notice or delivery, and before and after each
sending. It prints the step at which it dies; without a step left it works until nothing is due.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from query import app
from query.notify import channels, deliver
from schemas.mail.mailer import Mailer
from schemas.registry import RegistryStore
from schemas.registry.notices import RegistryNotices
from schemas.runtime.settings import Settings

WRITES = ("hold_lease", "record_check", "add", "claim", "delivered")
DEAD = 9


class Steps:
    """Counts steps, and ends the process at one of them."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._count = 0

    def take(self, name: str) -> None:
        self._count += 1
        if self._count == self._last:
            print(name, flush=True)
            os._exit(DEAD)

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.take(f"before {name}")
            result = function(*arguments, **named)
            self.take(f"after {name}")
            return result

        return counted

    def around_sending(
        self, name: str, function: Callable[..., Awaitable[None]]
    ) -> Callable[..., Awaitable[None]]:
        async def counted(*arguments: Any, **named: Any) -> None:
            self.take(f"before {name}")
            await function(*arguments, **named)
            self.take(f"after {name}")

        return counted


async def work(folder: str, smtp_port: str, now_ms: int, steps: Steps) -> None:
    """Check and deliver once, as a query service does."""
    settings = Settings(
        data_dir=folder,
        smtp_url=f"smtp://127.0.0.1:{smtp_port}",
        mail_from="stats@shop.example",
        webhook_networks="127.0.0.0/8",
        query_memory_mb=256,
        query_threads=1,
    )
    setattr(deliver, "CONCURRENCY", 1)  # noqa: B010 - one after the other, so that steps are known
    for name in WRITES:
        setattr(RegistryNotices, name, steps.around(name, getattr(RegistryNotices, name)))
    setattr(Mailer, "send", steps.around_sending("mail", Mailer.send))  # noqa: B010
    setattr(deliver, "send", steps.around_sending("webhook", channels.send))  # noqa: B010
    store = RegistryStore(settings.registry_url)
    service = app.create_app(settings, store, clock=lambda: now_ms)
    service.follower.refresh()
    await service.notifier.hold_lease()
    await service.notifier.check()
    await service.notifier.deliver()
    service.close()
    store.close()


if __name__ == "__main__":
    data, port, now, step = sys.argv[1:]
    asyncio.run(work(data, port, int(now), Steps(int(step))))
