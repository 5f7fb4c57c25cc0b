"""A collector whose stores are frozen (SIGSTOP): they accept connections and answer nothing.

Whatever strangers send meanwhile, it lives, accepts good traffic, and answers everybody soon.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from deploy.local.kafka.broker import Broker
from schemas.http.server import HEARTBEAT_INTERVAL_SECONDS
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import heartbeat_path
from tests.http_client import call
from tests.ingest.collector_process import CollectorProcess, start_collector
from tests.installation import eventually
from tests.postgresql import PostgreSQL
from tests.s3.server import S3Server
from tests.valkey_server import PASSWORD, ValkeyServer

pytestmark = pytest.mark.long

FROZEN_SECONDS = 12.0
STRANGERS = 40
"""More at once than any pool of threads."""
EVENT = [{"name": "signup"}]
UNKNOWN: tuple[tuple[str, str, dict[str, str], int], ...] = (
    ("POST", "/track?website_id=web_gone{}", {}, 403),
    ("POST", "/track", {"x-api-key": "tm_gone{}_" + "0" * 32}, 401),
    ("GET", "/l/gone{}", {}, 404),
)


class Stores:
    """Every store of a collector but Kafka."""

    def __init__(self, folder: Path) -> None:
        self.postgresql, self.valkey, self.s3 = PostgreSQL(), ValkeyServer(), S3Server(folder)

    def thaw(self) -> None:
        for store in (self.postgresql, self.valkey, self.s3):
            store.thaw()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stores = Stores(tmp_path_factory.mktemp("s3"))
    with stores.postgresql, stores.valkey, stores.s3:
        yield stores


@pytest.fixture(scope="module")
def frozen_collector(
    tmp_path_factory: pytest.TempPathFactory, broker: Broker, stores: Stores
) -> Iterator[CollectorProcess]:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in stores.s3.environment.items():
            patched.setenv(name, value)
        limits = stores.valkey.url.replace("//", f"//:{quote(PASSWORD, safe='')}@")
        with start_collector(
            tmp_path_factory.mktemp("frozen"),
            broker,
            registry=stores.postgresql.new_database(),
            limits_url=limits,
            lake=stores.s3.url,
        ) as collector:
            eventually(collector.heartbeat_ready)
            yield collector
            stores.thaw()  # else the process cannot end


def seconds_of(work: Callable[[], int]) -> tuple[int, float]:
    began = time.monotonic()
    return work(), time.monotonic() - began


@pytest.mark.parametrize("name", ["postgresql", "s3", "valkey"])
def test_a_frozen_store_stops_neither_the_collector_nor_good_traffic(
    name: str, frozen_collector: CollectorProcess, stores: Stores
) -> None:
    collector = frozen_collector
    heartbeat = heartbeat_path(collector.settings.data / "run", collector.name)
    assert collector.post(EVENT).status == 200

    def ask(number: int) -> tuple[int, float]:
        method, path, headers, expected = UNKNOWN[number % len(UNKNOWN)]
        url = collector.url + path.format(number)
        body = EVENT if method == "POST" else None
        sent = {header: value.format(number) for header, value in headers.items()}
        status, seconds = seconds_of(lambda: call(method, url, body, sent, seconds=30).status)
        return status - expected, seconds

    def wait_for_storage(_: int) -> tuple[int, float]:
        path = "/track?website_id=shop&wait=stored&timeout=2"
        return seconds_of(lambda: collector.post(EVENT, path, seconds=30).status)

    getattr(stores, name).freeze()
    try:
        ends = time.monotonic() + FROZEN_SECONDS
        with ThreadPoolExecutor(2 * STRANGERS) as strangers:
            asking = [strangers.submit(ask, number) for number in range(STRANGERS)]
            holding = [strangers.submit(wait_for_storage, number) for number in range(STRANGERS)]
            ages, good = [], []
            while time.monotonic() < ends:
                good.append(seconds_of(lambda: collector.post(EVENT).status))
                ages.append(now_ms() / 1000 - heartbeat.stat().st_mtime)
                time.sleep(0.2)
            unknown = [future.result() for future in asking]
            waiting = [future.result() for future in holding]
            late = [ask(number) for number in range(1000, 1003)]
    finally:
        getattr(stores, name).thaw()

    assert {status for status, _ in good} == {200}
    assert max(ages) < HEARTBEAT_INTERVAL_SECONDS + 4  # the machine may be busy
    assert {difference for difference, _ in [*unknown, *late]} == {0}
    assert max(seconds for _, seconds in unknown) < 5  # the first wait a second
    assert max(seconds for _, seconds in late) < 1
    assert {status for status, _ in waiting} <= {202, 503}
    assert max(seconds for _, seconds in waiting) < 12
    assert collector.ready()
