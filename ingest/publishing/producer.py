"""Outbox: chunks to Kafka, acknowledged in time, or refused.

The only file of the collector that knows aiokafka. One idempotent producer at a time; it is made
anew whenever a delivery fails, because a failed one leaves a gap in its sequence numbers, after
which its sender dies and every later send fails.
"""

import asyncio
import logging
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from msgspec import Struct

from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.partition_queue import Answer, Lane, Load, Outcome, Ticket
from schemas.errors import TooLarge, Unavailable
from schemas.lake.topic_identity import identify
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

MESSAGE_BYTES = 4 * 1024 * 1024
REQUEST_BYTES = MESSAGE_BYTES - 64 * 1024
"""What one request may take of a message; Kafka's own share of it is far below the rest."""
CONNECT_SECONDS = 5.0
REQUEST_MS = 10_000
METADATA_MS = 10_000
IDS_SECONDS = 5.0
PROBE_SECONDS = 1.0
LOOK_SECONDS = 0.25
STALLED_SECONDS = 2.0
DISCARD_SECONDS = 2.0

HUGE = "The items are of too many websites to travel as one message; send fewer of them at once"
BUSY = "Too much is waiting for Kafka; nothing was taken"
AWAY = "Kafka cannot be reached; nothing was taken"

# One line of ours says that Kafka is away; aiokafka would log an error for every attempt.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


class Counts(Struct):
    """What happened since the start."""

    acknowledged: int = 0
    failed: int = 0
    rebuilt: int = 0


class Outbox:
    """Takes sealed requests for the topics, and answers what became of them."""

    def __init__(self, settings: Settings, topics: Iterable[str]) -> None:
        self._brokers = settings.brokers
        self._names = {topic: settings.topic(topic) for topic in topics}
        self._chunk_bytes = settings.chunk_bytes
        self._seconds = settings.produce_seconds
        self._ids: dict[str, str] = {}
        """Kafka's id of each topic, by its name there."""
        self._ids_learnt = 0.0
        self._load = Load(settings.in_flight_bytes)
        self._lanes: dict[str, list[Lane]] = {topic: [] for topic in self._names}
        self._producer: AIOKafkaProducer | None = None
        self._in_flight: set[asyncio.Future[object]] = set()
        self._broken: asyncio.Event = asyncio.Event()
        self._living: asyncio.Task[None] | None = None
        self.disk = DiskFloor(settings)
        self.counts = Counts()
        self.refusing: str | None = "no answer yet"
        """Why nothing is taken; None when all is well."""

    def start(self) -> None:
        """Look for Kafka, for as long as it takes; meanwhile everything is refused."""
        self._living = asyncio.get_running_loop().create_task(self._live())
        self._living.add_done_callback(_end_on_surprise)

    def put(self, topic: str, place: int, envelopes: Sequence[bytes], items: int) -> Ticket:
        """Put one request, whole, into the lane of its place.

        Unavailable or TooLarge before anything is sent; else the answer comes within
        `produce_seconds`.
        """
        size = sum(map(len, envelopes))
        if self.refusing is not None:
            self.disk.claim(0)  # a broker without room is away, too: the disk is what to look at
            raise Unavailable(AWAY)
        if size > REQUEST_BYTES:
            raise TooLarge(HUGE)
        if not self._load.fits(size):
            raise Unavailable(BUSY, retry_after=1)
        self.disk.claim(size)
        lanes = self._lanes[topic]
        return lanes[place % len(lanes)].put(envelopes, size, items)

    async def close(self, seconds: float) -> None:
        """Send what waits, for at most so long; then let go of Kafka."""
        running = [lane.running for lane in self._all_lanes() if lane.running is not None]
        if running:
            _, left = await asyncio.wait(running, timeout=seconds)
            if left:
                log.warning("not acknowledged at the end", extra={"lanes": len(left)})
            for task in left:
                task.cancel()
        if self._living is not None:
            self._living.cancel()
            with suppress(asyncio.CancelledError):
                await self._living

    async def _live(self) -> None:
        while True:
            try:
                producer = await self._connect()
            except (KafkaError, OSError, TimeoutError) as error:
                self._refuse(str(error) or "no answer")
                await asyncio.sleep(PROBE_SECONDS)
                continue
            try:
                await self._watch(producer)
            except (KafkaError, TimeoutError) as error:
                self._refuse(repr(error))
            finally:
                self._producer = None
                await self._let_go(producer)

    async def _connect(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._brokers,
            acks="all",
            enable_idempotence=True,
            max_batch_size=MESSAGE_BYTES,
            max_request_size=MESSAGE_BYTES,
            request_timeout_ms=REQUEST_MS,
            metadata_max_age_ms=METADATA_MS,
        )
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await producer.start()
            await self._learn_partitions(producer)
            await self._learn_ids(producer, CONNECT_SECONDS)
        except BaseException:
            await discard(producer)
            raise
        return producer

    async def _watch(self, producer: AIOKafkaProducer) -> None:
        """Serve with this producer until it breaks."""
        self._broken.clear()
        self._producer = producer
        log.info("kafka answers", extra={"brokers": self._brokers})
        while not self._broken.is_set():
            oldest = max((lane.age() for lane in self._all_lanes()), default=0.0)
            if oldest > STALLED_SECONDS:
                self._refuse("no acknowledgement")
            else:
                self.refusing = None
                await self._learn_partitions(producer)
                if asyncio.get_running_loop().time() - self._ids_learnt > IDS_SECONDS:
                    # One of several brokers may be away: what was learnt holds, deliveries go on.
                    with suppress(KafkaError, TimeoutError):
                        await self._learn_ids(producer, PROBE_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), LOOK_SECONDS)

    async def _learn_partitions(self, producer: AIOKafkaProducer) -> None:
        """Have a lane for each partition; a topic may grow at any time."""
        for topic, name in self._names.items():
            lanes = self._lanes[topic]
            async with asyncio.timeout(CONNECT_SECONDS):
                count = len(await producer.partitions_for(name))
            lanes += [self._lane(name, partition) for partition in range(len(lanes), count)]

    async def _learn_ids(self, producer: AIOKafkaProducer, seconds: float) -> None:
        """Know which making of each topic this is; receipts say it."""
        self._ids_learnt = asyncio.get_running_loop().time()
        async with asyncio.timeout(seconds):
            found = await identify(producer.client, self._names.values())
        self._ids = {name: identity.id for name, identity in found.items()}

    def _lane(self, name: str, partition: int) -> Lane:
        limits = (self._load, self._chunk_bytes, self._seconds)
        return Lane(name, partition, self._deliver, *limits)

    async def _deliver(self, topic: str, partition: int, message: bytes) -> Answer:
        producer = self._producer
        if producer is None:
            return Answer(Outcome.NOT_SENT)
        try:
            delivered = await producer.send(topic, message, partition=partition)
        except KafkaError as error:
            return self._fail(Outcome.NOT_SENT, error)
        self._in_flight.add(delivered)
        try:
            kept = await delivered
        except KafkaError as error:
            return self._fail(Outcome.UNKNOWN, error)
        finally:
            self._in_flight.discard(delivered)
        self.counts.acknowledged += 1
        # After a retry Kafka may no longer know the offset of what it has; then it is -1.
        return Answer(Outcome.ACKNOWLEDGED, partition, kept.offset, self._ids.get(topic, ""))

    def _fail(self, outcome: Outcome, error: KafkaError) -> Answer:
        self.counts.failed += 1
        self._refuse(repr(error))
        self._broken.set()
        return Answer(outcome)

    async def _let_go(self, producer: AIOKafkaProducer) -> None:
        self.counts.rebuilt += 1
        for delivered in self._in_flight:
            if not delivered.done():
                delivered.set_exception(KafkaError("the producer was given up"))
        await discard(producer)

    def _refuse(self, reason: str) -> None:
        if self.refusing is None:
            log.warning("kafka away", extra={"reason": reason})
        self.refusing = reason

    def _all_lanes(self) -> Iterable[Lane]:
        return (lane for lanes in self._lanes.values() for lane in lanes)


def _end_on_surprise(living: "asyncio.Task[None]") -> None:
    """What nobody foresaw ends the process in order; the supervisor starts another."""
    if not living.cancelled() and (error := living.exception()) is not None:
        log.critical("outbox ended", exc_info=error)
        signal.raise_signal(signal.SIGTERM)


async def discard(producer: AIOKafkaProducer) -> None:
    """Stop a producer, in bounded time; its own `stop` waits for Kafka as long as that is away."""
    try:
        await asyncio.wait_for(producer.stop(), DISCARD_SECONDS)
    except (KafkaError, TimeoutError):
        # It has no public way to end the sender, which would go on trying for ever.
        task = producer._sender.sender_task
        if task is not None:
            task.cancel()
        await producer.client.close()
