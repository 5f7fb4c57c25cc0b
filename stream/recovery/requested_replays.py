"""Carries out the replays that callers request over HTTP, as records of the registry.

| state    | what happens                                                                       |
|----------|------------------------------------------------------------------------------------|
| planning | the items of a dry run are tried: `planned`                                        |
| pending  | the items are tried, the report is written: `sending`                              |
| sending  | the items that are still in the quarantine are tried and sent: `sent`              |

Killed at any point, the next keeper continues by the state: what was sent and stored is not in the
quarantine any more, and what was sent and not stored yet is a duplicate of itself.

Runs in a thread of the active keeper, so that a broker that is away delays no other task.
"""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from schemas.lake.delta_table import UnreadableTable
from schemas.lake.item_changes import parse_change
from schemas.registry import (
    DatabaseError,
    Erasure,
    ErasureState,
    RecordNotFound,
    RegistryStore,
    Replay,
    ReplayState,
    Snapshot,
    first_line,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from stream.runtime.errors import FatalError

if TYPE_CHECKING:
    from stream.recovery.quarantine_replay import PlannedItem, ReplayPlan

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
RETRY_SECONDS = 10.0
KEEP_ITEMS_MS = 3_600_000
"""For so long a record has contents of items, which may be personal data; see `_remove_items`."""
EXPIRY_INTERVAL_MS = 60_000
MAX_OUTCOMES, MAX_SAMPLES = 100, 20
MAX_ITEM_LENGTH = 600
KAFKA_AWAY = "Kafka does not answer; it is tried again"
LAKE_UNREADABLE = "the quarantine cannot be read; it is tried again"
FAILED = "an error of this version; it is tried again, and the log of the keeper has the error"
LAKE_ERRORS = (OSError, UnreadableTable, pa.ArrowException)


def run_requested_replays(settings: Settings, stop: threading.Event) -> None:
    """Carry out what is requested, until stopped; what fails is logged and tried again."""
    replays = RequestedReplays(settings)
    logged_error, pause = "", POLL_SECONDS
    while not stop.wait(pause):
        try:
            problem = replays.run_cycle()
        except DatabaseError as error:
            problem = first_line(error)
        if problem and problem != logged_error:
            log.warning("replays not carried out", extra={"reason": problem})
        logged_error, pause = problem, RETRY_SECONDS if problem else POLL_SECONDS


class RequestedReplays:
    """The replays of the registry."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = RegistryStore(settings.registry_url, "keeper")
        self._expired_ms = 0

    def run_cycle(self) -> str:
        """Do what is due, the oldest first; the problem of the last that failed."""
        problem = ""
        for replay in self._unfinished():
            try:
                problem = self._carry_out(replay) or problem
            except RecordNotFound as error:  # deleted with its website meanwhile
                log.info("not replayed", extra={"reason": str(error)})
        if now_ms() > self._expired_ms + EXPIRY_INTERVAL_MS:
            self._expired_ms = now_ms()
            self._remove_items()
        return problem

    def _remove_items(self) -> None:
        """Remove contents of items that are old, or of an organization that erases something."""
        erasing = {
            erasure.organization_id
            for state in (ErasureState.PENDING, ErasureState.REWRITTEN)
            for erasure in self._store.list(Erasure, state=state.value)
        }
        for replay in self._store.list(Replay):
            is_old = now_ms() > replay.updated_at + KEEP_ITEMS_MS
            if replay.planned_items and (is_old or replay.organization_id in erasing):
                self._store.update_progress(Replay, replay.id, now_ms(), planned_items={})

    def _unfinished(self) -> Sequence[Replay]:
        states = [state.value for state in ReplayState if not state.is_over]
        replays = [one for state in states for one in self._store.list(Replay, state=state)]
        return sorted(replays, key=lambda replay: (replay.created_at, replay.id))

    def _carry_out(self, replay: Replay) -> str:
        """Plan and send; why it was not possible, or an empty text."""
        from stream.recovery.quarantine_replay import send_replay

        try:
            plan = self._plan(replay)
            if replay.state is ReplayState.PLANNING:
                self._update(replay, ReplayState.PLANNED, **_planned(plan))
                return ""
            if replay.state is ReplayState.PENDING:
                self._update(replay, ReplayState.SENDING, **_planned(plan))
            send_replay(self._settings, plan)
            report = self._store.get(Replay, replay.id).report
            report = {name: value for name, value in report.items() if name != "problem"}
            self._update(replay, ReplayState.SENT, report=report)
        except FatalError as error:
            return self._note(replay, KAFKA_AWAY, str(error))
        except LAKE_ERRORS as error:
            return self._note(replay, LAKE_UNREADABLE, str(error))
        except (RecordNotFound, DatabaseError):
            raise
        except Exception as error:  # one replay must not stop those of others
            return self._note(replay, FAILED, f"{replay.id}: {error!r}")
        return ""

    def _plan(self, replay: Replay) -> "ReplayPlan":
        # With all parsers, which a keeper without replays does not need.
        from stream.enrich.rules.registry_lookups import registry_lookups
        from stream.recovery.quarantine_replay import ReplaySelection, plan_replay

        snapshot = Snapshot.read(self._store)
        selection = ReplaySelection(
            replay.website_id or replay.link_id,
            replay.days,
            replay.stage,
            replay.reason_contains,
            replay.position,
        )
        changes = [parse_change(change) for change in replay.item_changes]
        lookups = registry_lookups(self._settings, snapshot)
        owner_of, privacy_of = snapshot.owner_of, snapshot.privacy_of
        return plan_replay(self._settings, selection, changes, lookups, owner_of, privacy_of)

    def _update(self, replay: Replay, state: ReplayState, **changes: Any) -> None:
        self._store.update(Replay, replay.id, now_ms(), state=state, **changes)
        log.info("replay moved on", extra={"replay_id": replay.id, "state": state.value})

    def _note(self, replay: Replay, problem: str, error: str) -> str:
        """Write a problem into the report, for the caller; the error is for the operator."""
        report = self._store.get(Replay, replay.id).report
        if report.get("problem") != problem:
            noted = {**report, "problem": problem}
            self._store.update_progress(Replay, replay.id, now_ms(), report=noted)
        return error


def _planned(plan: "ReplayPlan") -> Mapping[str, Any]:
    """The numbers of a plan, and what becomes of its items."""
    sendable = [item for item in plan.items if item.problem is None]
    return {
        "report": {
            "items": len(plan.items),
            "sendable": plan.sendable,
            "withoutSender": sum(not item.has_sender for item in sendable),
            "remaining": plan.remaining,
        },
        "planned_items": {
            "outcomes": _outcomes(plan.items),
            "samples": [_sample(item) for item in plan.items[:MAX_SAMPLES]],
        },
    }


def _outcomes(items: Sequence["PlannedItem"]) -> list[dict[str, Any]]:
    """The items by outcome, stage and reason, the most frequent first."""
    counts = Counter((item.problem, item.stage, item.reason) for item in items)
    newest = {(item.problem, item.stage, item.reason): item.position for item in items}
    return [
        {
            "items": count,
            "problem": problem,
            "stage": stage,
            "reason": reason,
            "position": newest[problem, stage, reason],
        }
        for (problem, stage, reason), count in counts.most_common(MAX_OUTCOMES)
    ]


def _sample(item: "PlannedItem") -> dict[str, Any]:
    """An item as it would be sent, cut."""
    text = msgspec.json.encode(item.item).decode() if item.item is not None else None
    if text is not None and len(text) > MAX_ITEM_LENGTH:
        text = f"{text[:MAX_ITEM_LENGTH]}…"
    return {
        "position": item.position,
        "stage": item.stage,
        "reason": item.reason,
        "problem": item.problem,
        "hasSender": item.has_sender,
        "item": text,
    }
