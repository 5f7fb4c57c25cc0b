"""Notices of alerts and reports: each is written once, sent by one process, and tried for a day."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import pytest
from msgspec import structs

from schemas.registry import Alert, Organization, RegistryStore, Report, Website
from schemas.registry.notices import (
    MAX_PROBLEM_LENGTH,
    AlertState,
    Delivery,
    Notice,
    NoticeEvent,
    RegistryNotices,
    Target,
    new_notice,
)

T = TypeVar("T")
Stores = tuple[RegistryStore, RegistryStore]

NOW = 1_796_000_000_000
MINUTE = 60_000
HOUR = (NOW - 3_600_000, NOW)
WHEN: Any = {"created_at": 0, "updated_at": 0}
OPS, CHAT = Target("email", "ops@shop.example"), Target("slack", "chan_1")
CONTENT = {"value": 14.0, "reference": 10.0, "text": "14", "rows": [{"message": "a", "n": None}]}


@pytest.fixture
def stores(each_url: str) -> Iterator[Stores]:
    """The stores of two processes."""
    one, other = RegistryStore(each_url), RegistryStore(each_url)
    one.create(Organization(id="acme", name="acme", plan="free", **WHEN))
    one.create(Website(id="shop", organization_id="acme", domain="shop.example", **WHEN))
    of_shop: Any = {"organization_id": "acme", "website_id": "shop", **WHEN}
    for name in ("alert_1", "alert_2"):
        one.create(Alert(id=name, name=name, condition="nothing", **of_shop))
    one.create(Report(id="rep_1", name="weekly", **of_shop))
    yield one, other
    one.close()
    other.close()


@pytest.fixture
def notices(stores: Stores) -> RegistryNotices:
    return stores[0].notices()


def fired(alert_id: str = "alert_1", **more: Any) -> Notice:
    return new_notice(
        NoticeEvent.FIRED, "shop", HOUR, NOW, alert_id=alert_id, content=CONTENT, **more
    )


def state(until: int, **more: Any) -> AlertState:
    return AlertState("alert_1", until, **more)


def a_delivery(notices: RegistryNotices) -> Delivery:
    """A delivery that is due."""
    notice = fired()
    assert notices.add(notice, [OPS], NOW)
    [delivery] = notices.deliveries_of(notice.id)
    return delivery


def current(notices: RegistryNotices, delivery: Delivery) -> Delivery:
    [same] = notices.deliveries_of(delivery.notice_id)
    return same


def at_once(stores: Stores, work: Callable[[RegistryNotices], T]) -> Sequence[T]:
    """What eight threads of two processes get that do the same at one time."""
    barrier = Barrier(8)

    def one(i: int) -> T:
        barrier.wait()
        return work(stores[i % 2].notices())

    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(one, range(8)))


def test_a_check_writes_state_and_notice_together(notices: RegistryNotices) -> None:
    notice = fired()
    after = state(HOUR[1], firing_since=HOUR[0], value=14.5)

    assert notices.record_check(None, after, notice, [OPS, CHAT, OPS], NOW + 5)

    assert notices.alert_states() == {"alert_1": after}
    [(stored, deliveries)] = notices.history(10, alert_id="alert_1")
    assert stored == notice
    assert stored.content == CONTENT
    assert sorted((one.kind, one.target, one.due_at, one.state) for one in deliveries) == [
        ("email", "ops@shop.example", NOW + 5, "due"),
        ("slack", "chan_1", NOW + 5, "due"),
    ]


def test_states_are_read_by_alert(notices: RegistryNotices) -> None:
    first = state(1, problem="p")
    notices.record_check(None, first)
    notices.record_check(None, AlertState("alert_2", 2, 1, 0.5))

    assert notices.alert_states(["alert_1", "alert_3"]) == {"alert_1": first}
    assert notices.alert_states([]) == {}
    assert set(notices.alert_states()) == {"alert_1", "alert_2"}


def test_of_processes_that_check_a_new_alert_one_tells(stores: Stores) -> None:
    after = state(HOUR[1], firing_since=HOUR[0], value=14.0)

    written = at_once(stores, lambda one: one.record_check(None, after, fired(), [OPS], NOW))

    assert sorted(written) == [False] * 7 + [True]
    [(_, deliveries)] = stores[0].notices().history(10, alert_id="alert_1")
    assert len(deliveries) == 1


def test_of_processes_that_check_the_same_bucket_one_tells(stores: Stores) -> None:
    before, after = state(HOUR[0]), state(HOUR[1], firing_since=HOUR[0])
    stores[0].notices().record_check(None, before)

    written = at_once(stores, lambda one: one.record_check(before, after, fired(), [OPS], NOW))

    assert sorted(written) == [False] * 7 + [True]
    [(_, deliveries)] = stores[0].notices().history(10, alert_id="alert_1")
    assert len(deliveries) == 1
    assert stores[0].notices().alert_states() == {"alert_1": after}


def test_a_check_of_a_deleted_alert_writes_nothing(stores: Stores) -> None:
    notices, before = stores[0].notices(), state(HOUR[0])
    notices.record_check(None, before)
    stores[0].delete(Alert, "alert_1")

    assert not notices.record_check(before, state(HOUR[1]), fired(), [OPS], NOW)
    assert not notices.record_check(None, state(HOUR[1]), fired(), [OPS], NOW)
    assert notices.alert_states() == {}
    assert notices.due(NOW, 10) == []


def test_a_notice_is_written_once(notices: RegistryNotices) -> None:
    assert notices.add(fired(), [OPS], NOW)
    assert not notices.add(fired(), [OPS, CHAT], NOW)

    [(_, deliveries)] = notices.history(10, alert_id="alert_1")
    assert [one.target for one in deliveries] == ["ops@shop.example"]


def test_of_processes_that_add_a_notice_at_once_one_does(stores: Stores) -> None:
    added = at_once(stores, lambda one: one.add(fired(), [OPS, CHAT], NOW))

    assert sorted(added) == [False] * 7 + [True]
    [(_, deliveries)] = stores[0].notices().history(10, alert_id="alert_1")
    assert len(deliveries) == 2


def test_a_longer_bucket_with_the_same_start_is_another_notice(notices: RegistryNotices) -> None:
    of_day = new_notice(NoticeEvent.FIRED, "shop", (HOUR[0], NOW + 1), NOW, alert_id="alert_1")

    assert notices.add(fired(), [OPS], NOW)
    assert notices.add(of_day, [OPS], NOW)


def test_a_notice_of_a_deleted_report_is_not_written(stores: Stores) -> None:
    notice = new_notice(NoticeEvent.REPORT, "shop", HOUR, NOW, report_id="rep_1")
    stores[0].delete(Report, "rep_1")

    assert not stores[0].notices().add(notice, [OPS], NOW)


def test_tests_may_be_repeated(notices: RegistryNotices) -> None:
    assert notices.add(fired(once=False), [], NOW)
    assert notices.add(fired(once=False), [], NOW)

    assert len(notices.history(10, alert_id="alert_1")) == 2


def test_what_is_due_comes_oldest_first_with_its_notice(notices: RegistryNotices) -> None:
    late, early, future = fired(once=False), fired("alert_2"), fired(once=False)
    notices.add(late, [OPS], NOW)
    notices.add(early, [CHAT], NOW - 1)
    notices.add(future, [OPS], NOW + 1)

    due = notices.due(NOW, 10)

    assert [(one.target, notice) for one, notice in due] == [
        ("chan_1", early),
        ("ops@shop.example", late),
    ]
    assert [notice for _, notice in notices.due(NOW, 1)] == [early]


def test_of_processes_that_claim_a_delivery_one_sends(stores: Stores) -> None:
    delivery = a_delivery(stores[0].notices())

    claimed = [one for one in at_once(stores, lambda it: it.claim(delivery, NOW)) if one]

    assert [(one.attempts, one.tried_at, one.due_at, one.state) for one in claimed] == [
        (1, NOW, NOW + 2 * MINUTE, "trying")
    ]
    assert current(stores[0].notices(), delivery) == claimed[0]
    assert stores[0].notices().due(NOW, 10) == []


def test_a_delivery_of_a_process_that_died_is_due_again(notices: RegistryNotices) -> None:
    claimed = notices.claim(a_delivery(notices), NOW)

    [(due, _)] = notices.due(NOW + 2 * MINUTE, 10)

    assert due == claimed


def test_a_delivery_is_tried_eight_times_in_22_hours(notices: RegistryNotices) -> None:
    delivery, now, minutes = a_delivery(notices), NOW, []
    while (due := current(notices, delivery)).due_at is not None:
        minutes.append((due.due_at - now) // MINUTE)
        now = due.due_at
        claimed = notices.claim(due, now)
        assert claimed is not None
        notices.not_delivered(claimed, "no answer", now)

    assert minutes == [0, 2, 5, 15, 60, 180, 360, 720]
    assert (due.state, due.attempts, due.failed_at, due.problem) == ("failed", 8, now, "no answer")
    assert notices.due(now + 10**10, 10) == []


def test_a_receiver_may_ask_for_a_later_attempt(notices: RegistryNotices) -> None:
    claimed = notices.claim(a_delivery(notices), NOW)
    assert claimed is not None

    notices.not_delivered(claimed, "slow down", NOW, retry_at=NOW + 9 * MINUTE)

    assert current(notices, claimed).due_at == NOW + 9 * MINUTE


def test_an_earlier_attempt_than_planned_is_not_made(notices: RegistryNotices) -> None:
    claimed = notices.claim(a_delivery(notices), NOW)
    assert claimed is not None

    notices.not_delivered(claimed, "x" * 5_000, NOW, retry_at=NOW + 1)

    same = current(notices, claimed)
    assert (same.due_at, same.problem) == (NOW + 2 * MINUTE, "x" * MAX_PROBLEM_LENGTH)


def test_a_refused_delivery_is_given_up(notices: RegistryNotices) -> None:
    claimed = notices.claim(a_delivery(notices), NOW)
    assert claimed is not None

    notices.not_delivered(claimed, "gone", NOW + 1, give_up=True)

    same = current(notices, claimed)
    assert (same.state, same.due_at, same.failed_at) == ("failed", None, NOW + 1)
    assert notices.claim(same, NOW) is None


def test_what_was_delivered_is_not_due_again(notices: RegistryNotices) -> None:
    delivery = a_delivery(notices)
    claimed = notices.claim(delivery, NOW)
    assert claimed is not None
    notices.not_delivered(claimed, "no answer", NOW)
    again = notices.claim(current(notices, delivery), NOW + 2 * MINUTE)
    assert again is not None

    notices.delivered(again, NOW + 2 * MINUTE + 1)

    same = current(notices, delivery)
    assert (same.state, same.due_at, same.delivered_at, same.attempts, same.problem) == (
        "delivered",
        None,
        NOW + 2 * MINUTE + 1,
        2,
        "",
    )
    notices.not_delivered(claimed, "late answer of an earlier attempt", NOW, give_up=True)
    assert current(notices, delivery) == same


def test_history_is_newest_first_of_one_alert_or_report(notices: RegistryNotices) -> None:
    of_alert = [
        new_notice(NoticeEvent.TEST, "shop", HOUR, NOW + i, alert_id="alert_1", once=False)
        for i in range(3)
    ]
    report = new_notice(NoticeEvent.REPORT, "shop", HOUR, NOW, report_id="rep_1")
    for notice in (*of_alert, report, fired("alert_2")):
        notices.add(notice, [OPS], NOW)

    assert [one for one, _ in notices.history(2, alert_id="alert_1")] == of_alert[:0:-1]
    assert [one for one, _ in notices.history(9, report_id="rep_1")] == [report]


def test_a_lease_has_one_holder(notices: RegistryNotices) -> None:
    assert notices.hold_lease("notifier", "one", NOW, 1_000)
    assert not notices.hold_lease("notifier", "other", NOW + 999, 1_000)
    assert notices.hold_lease("notifier", "one", NOW + 999, 1_000)
    assert not notices.hold_lease("notifier", "other", NOW + 1_998, 1_000)
    assert notices.hold_lease("notifier", "other", NOW + 1_999, 1_000)
    assert not notices.hold_lease("notifier", "one", NOW + 2_000, 1_000)
    assert notices.hold_lease("another", "one", NOW, 1_000)


def test_a_released_lease_is_free(notices: RegistryNotices) -> None:
    notices.hold_lease("notifier", "one", NOW, 1_000)

    notices.release_lease("notifier", "other")
    assert not notices.hold_lease("notifier", "other", NOW, 1_000)
    notices.release_lease("notifier", "one")
    assert notices.hold_lease("notifier", "other", NOW, 1_000)


def test_of_processes_that_want_a_lease_one_gets_it(stores: Stores) -> None:
    holders = iter("abcdefgh")

    held = at_once(stores, lambda one: one.hold_lease("notifier", next(holders), NOW, 1_000))

    assert held.count(True) == 1


@pytest.mark.parametrize("what", [(Alert, "alert_1"), (Website, "shop")])
def test_what_is_deleted_has_no_notices(stores: Stores, what: tuple[Any, str]) -> None:
    notices, notice = stores[0].notices(), fired()
    notices.record_check(None, state(NOW, value=1.0), notice, [OPS], NOW)

    stores[0].delete(*what)

    assert notices.alert_states() == {}
    assert notices.history(9, alert_id="alert_1") == []
    assert notices.deliveries_of(notice.id) == []
    assert notices.due(NOW, 9) == []


def test_old_notices_are_forgotten(notices: RegistryNotices) -> None:
    old, new = fired(), fired("alert_2")
    notices.add(old, [OPS], NOW)
    notices.add(new, [OPS], NOW)
    newer = new_notice(NoticeEvent.TEST, "shop", HOUR, NOW + 1, alert_id="alert_1", once=False)
    notices.add(newer, [OPS], NOW)

    notices.forget(NOW + 1)

    assert [notice for _, notice in notices.due(NOW, 9)] == [newer]
    assert notices.deliveries_of(old.id) == []


def test_notices_are_no_change_of_the_registry_and_in_no_backup(stores: Stores) -> None:
    store = stores[0]
    before = store.read_version()

    store.notices().record_check(None, state(NOW), fired(), [OPS], NOW)

    assert store.read_version() == before
    assert "ops@shop.example" not in repr(store.read_contents())


def test_an_erasure_leaves_no_rows_in_what_was_told(
    stores: Stores, notices: RegistryNotices
) -> None:
    content = {**CONTENT, "text": "1 new from 09:00 to 10:00 on 30 November: ann@mail.example"}
    told = structs.replace(fired(), content=content)
    numbers = structs.replace(fired("alert_2"), content={**CONTENT, "rows": []})
    for notice in (told, numbers):
        notices.add(notice, [OPS], NOW)

    notices.forget_rows("globex")
    notices.forget_rows("acme", "blog")
    assert notices.history(9, alert_id="alert_1")[0][0] == told
    notices.forget_rows("acme", "shop")

    [(erased, [delivery])] = notices.history(9, alert_id="alert_1")
    assert erased.content == {
        **CONTENT,
        "text": "1 new from 09:00 to 10:00 on 30 November",
        "rows": [],
    }
    assert delivery.state == "due"
    assert notices.history(9, alert_id="alert_2")[0][0] == numbers


def test_no_organization_fills_all_turns(stores: Stores, notices: RegistryNotices) -> None:
    store, more = stores[0], {"organization_id": "globex", "website_id": "rival", **WHEN}
    store.create(Organization(id="globex", name="globex", plan="free", **WHEN))
    store.create(Website(id="rival", organization_id="globex", domain="rival.example", **WHEN))
    store.create(Alert(id="alert_3", name="alert_3", condition="nothing", **more))
    crowd = [Target("email", f"{i}@shop.example") for i in range(40)]
    notices.add(fired(), crowd, NOW - 60_000)
    rival = new_notice(NoticeEvent.FIRED, "rival", HOUR, NOW, alert_id="alert_3", content=CONTENT)
    notices.add(rival, [OPS], NOW)

    due = notices.due(NOW, 20)

    assert len(due) == 20
    assert [notice.website_id for _, notice in due].count("rival") == 1
