"""`make upgrade`: every process of an older version is replaced by one of this version, under load.

The older version is that of ARGS, or the oldest whose registry can be migrated. Workers come first,
because old ones may not know what new collectors accept; then keeper, collectors and query
services. Checked at the end: every accepted event is stored once and counted by queries, which are
asked all the time; requests and queries were refused with 503 and Retry-After only; an export that
was in progress when its service was told to stop is complete; the ledger agrees. The exit code is 1
when something differs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from schemas.registry import RegistryStore, Share
from schemas.runtime.clock import now_ms
from tests.chaos.recorded_load import event_id_counts
from tests.http_client import call
from tests.installation import eventually
from tests.upgrade.machine import Machine
from tests.upgrade.queries_in_progress import AskingClient, SlowExport
from tests.upgrade.retrying_sender import RetryingSender
from tests.upgrade.versions import (
    FIRST_VERSION,
    NoHistory,
    Version,
    describe,
    this_version,
    unpack,
)

ORGANIZATION, WEBSITE, LATER = "org_upgrade", "web_upgrade", "web_later"
COUNTING = f"/v1/query/custom?website_id={WEBSITE}"
EACH = 600
"""Events between two replacements."""
STORED_SECONDS = 120.0
PERMITTED = {"200", "503 with Retry-After"}
CLOSED = "connection: "
"""How outcomes begin of requests on connections that a process closes when it ends. Versions that
do not drain do that; such a request is repeated, and counts once by its event ids."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make upgrade")
    parser.add_argument("commit", nargs="?", default=FIRST_VERSION, help="the older version")
    parser.add_argument("--back", action="store_true", help="then go back to the older version")
    asked = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="upgrade-") as name:
            folder = Path(name)
            old = unpack(asked.commit, folder / "old")
            print(f"from {describe(asked.commit)}")
            upgrade(folder / "machine", old, this_version(), asked.back)
    except NoHistory as error:
        sys.exit(f"upgrade: this needs a clone with its history: {error}")


def upgrade(folder: Path, old: Version, new: Version, back: bool) -> None:
    """Replace all processes of `old` by those of `new`, and check what is stored.

    With `back` all of them are ended afterwards, and the older version goes on.
    """
    folder.mkdir()
    with Machine(folder) as machine:
        key = register(machine, old)
        running = {role: [machine.start(old, role, 1)] for role in ("keeper", "collector", "query")}
        running["worker"] = [machine.start(old, "worker", number) for number in (1, 2)]
        began = time.monotonic()
        with (
            RetryingSender(machine.collect_url, WEBSITE) as load,
            AskingClient(f"{machine.query_url}{COUNTING}", count_query(), key) as asking,
        ):
            load.wait_for(EACH)
            print(machine.tidemark(new, "migrate"))
            add_records(machine, new)
            for role in ("worker", "keeper", "collector"):
                replace(machine, new, role, running[role])
                load.wait_for(EACH)
                print(f"    {stored(machine, key):,} events are counted")
            not_exported = replace_during_export(machine, new, running["query"], key)
            load.wait_for(EACH)
            seconds = time.monotonic() - began
        sent = len(load.acknowledged)
        print(f"{sent:,} events in {seconds:.0f} s, requests: {dict(load.outcomes)}")
        print(f"slowest request with its repetitions: {load.slowest_seconds:.1f} s")
        print(f"queries: {dict(asking.outcomes)}, slowest {asking.slowest_seconds:.1f} s")
        failed = [*failures(machine, new, load, key), *not_exported]
        asked = {"requests": load.outcomes, "queries": asking.outcomes}
        for name, outcomes in asked.items():
            if unlike := [each for each in outcomes if not is_permitted(each, old)]:
                failed.append(f"{name} refused otherwise: {unlike}")
        if back:
            go_back(machine, old, running)
            with RetryingSender(machine.collect_url, WEBSITE, name="back") as more:
                more.wait_for(EACH)
            load.acknowledged |= more.acknowledged
            if unlike := [each for each in more.outcomes if not is_permitted(each, old)]:
                failed.append(f"back: requests refused otherwise: {unlike}")
            failed += [f"back: {each}" for each in failures(machine, old, load, key)]
    for failure in failed:
        print(f"failed: {failure}")
    print("failed" if failed else "none lost, none doubled, and the ledger agrees")
    sys.exit(1 if failed else 0)


def register(machine: Machine, old: Version) -> str:
    """Set the older version up, with a website; the text of an API key."""
    machine.prepare(old)
    owner = ("--organization", ORGANIZATION)
    paid = ("--plan", "enterprise")
    machine.tidemark(old, "organizations", "create", "--name", "Acme", "--id", ORGANIZATION, *paid)
    website = ("--domain", "shop.example", "--id", WEBSITE)
    machine.tidemark(old, "websites", "create", *owner, *website)
    text: str = machine.tidemark(old, "keys", "create", *owner, "--scope", "read:data")
    return text.splitlines()[-1].split()[-1]


def add_records(machine: Machine, new: Version) -> None:
    """Records of this version, one of a kind that the older may not know; old processes go on."""
    store = RegistryStore(f"sqlite:///{machine.data / 'registry.db'}")
    share = Share(
        id="shr_upgrade",
        organization_id=ORGANIZATION,
        website_id=WEBSITE,
        created_at=now_ms(),
        updated_at=now_ms(),
        name="All",
        secret_hash="0" * 64,
    )
    store.create(share)
    store.close()
    later = ("--organization", ORGANIZATION, "--domain", "later.example", "--id", LATER)
    machine.tidemark(new, "websites", "create", *later)
    url = f"{machine.collect_url}/track?website_id={LATER}"
    eventually(lambda: call("POST", url, [{"name": "first"}]).status == 200)


def replace(
    machine: Machine,
    new: Version,
    role: str,
    running: list[str],
    before_end: Callable[[], None] = lambda: None,
) -> None:
    """Start a successor of each process, then end it."""
    for name in list(running):
        running.append(machine.start(new, role, int(name.rpartition("-")[2]) + 10))
        running.remove(name)
        before_end()
        print(f"{name} was replaced by {running[-1]}; it ended within {machine.stop(name):.1f} s")


def replace_during_export(
    machine: Machine, new: Version, running: list[str], key: str
) -> list[str]:
    """Replace the query service while it exports; what is wrong with the export."""
    counted = stored(machine, key)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    about = f"website_id={WEBSITE}&format=ndjson&startDate={day_before()}&endDate={day}"
    export = SlowExport(f"{machine.query_url}/v1/export/events?{about}", key)
    export.begin()
    try:
        replace(machine, new, "query", running, export.release)
    finally:
        export.release()
        export.join()
    print(f"    exported meanwhile: {export.lines:,} of at least {counted:,} events")
    if export.failure:
        return [f"the export that was in progress: {export.failure}"]
    missing = counted - export.lines
    return [f"{missing} events are missing in the export"] if missing > 0 else []


def is_permitted(outcome: str, old: Version) -> bool:
    """Whether a request may end so while processes of the older version are ended."""
    return outcome in PERMITTED or (not old.drains and outcome.startswith(CLOSED))


def go_back(machine: Machine, old: Version, running: Mapping[str, list[str]]) -> None:
    """End all processes, restore the registry by the older version, and start that."""
    for name in (name for names in running.values() for name in names):
        machine.stop(name)
    print(machine.tidemark(old, "registry", "restore", "--replace"))
    for role in running:
        machine.start(old, role, 21)


def stored(machine: Machine, key: str) -> int:
    """Events of the website, as the query service counts them."""
    reply = call("POST", f"{machine.query_url}{COUNTING}", count_query(), {"x-api-key": key})
    assert reply.status == 200, reply.body
    return int(reply.json["data"][0]["n"]) if reply.json["data"] else 0


def count_query() -> dict[str, object]:
    """Counts the events of yesterday and today."""
    count = {"field": "*", "aggregate": "count", "alias": "n"}
    return {
        "query": {"table": "events", "selects": [count]},
        "startDate": day_before(),
        "endDate": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def day_before() -> str:
    """Yesterday in UTC: midnight may pass meanwhile."""
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))


def failures(machine: Machine, new: Version, load: RetryingSender, key: str) -> list[str]:
    """What must hold at the end and does not."""
    sent = load.acknowledged
    eventually(lambda: sent <= set(event_id_counts(machine.lake, WEBSITE)), STORED_SECONDS)
    counts = event_id_counts(machine.lake, WEBSITE)
    answer = stored(machine, key)
    balance = next(
        check for check in machine.tidemark(new, "doctor", "--json") if check["check"] == "ledger"
    )
    found = {
        f"{len(sent - set(counts))} accepted events are lost": sent <= set(counts),
        f"{counts.total() - len(counts)} rows are doubled": counts.total() == len(counts),
        f"the query service counts {answer} of {len(counts)} events": answer == len(counts),
        f"the ledger differs: {balance['findings']}": balance["state"] == "ok",
    }
    return [text for text, holds in found.items() if not holds]


if __name__ == "__main__":
    main()
