"""Set-up on the page: a website until its first event, keys, what was refused, changes."""

import json
import secrets
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.flow.tenant import CHROME_USER_AGENT, Tenant, at_ms
from tests.flow.test_quarantine_replay import custom, send_as_another_collector
from tests.http_client import call
from tests.installation import ROOT, Installation, eventually
from tests.web.dashboard import CARD, TABLE, Dashboard
from tests.web.downloads import KEEP_FILE, downloaded
from tests.web.test_accessibility import violations


@pytest.fixture(scope="module")
def shop(stack: Installation) -> Tenant:
    """A tenant of its own, whose key administers."""
    tenant = Tenant.create(stack)
    store = RegistryStore(stack.settings.registry_url)
    key, text = validation.new_key(tenant.organization.id, ["admin"], now_ms())
    store.create(key)
    store.close()
    eventually(lambda: tenant.ask("summary", key=text).status == 200, 20)
    return Tenant(stack, tenant.organization, tenant.website, tenant.link, text)


def test_a_website_is_added_and_its_first_event_is_seen(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="websites")
    dashboard.press("Add a website")
    dashboard.type_into("dialog input[name=domain]", "https://new.example/shop?a=1")
    dashboard.press("Save", "dialog")
    dashboard.until(f"!location.pathname.includes('{dashboard.tenant.website.id}')")
    dashboard.until("document.querySelector('.arrival')?.innerText.startsWith('Waiting')")
    snippet = dashboard.text(".snippet pre")
    website_id = dashboard.path.split("/")[1]
    assert f'data-website-id="{website_id}"' in snippet

    item = {
        "name": "screen_view",
        "anonymousId": secrets.token_hex(8),
        "sessionId": secrets.token_hex(8),
        "path": "https://new.example/",
        "timestamp": now_ms() - 1000,
    }
    url = f"{dashboard.tenant.stack.collect_url}/track?website_id={website_id}"
    headers = {"user-agent": CHROME_USER_AGENT, "content-type": "application/json"}
    assert call("POST", url, item, headers).status == 200
    dashboard.until("document.querySelector('.arrival.received')")
    assert dashboard.text(".arrival").startswith("Received: one event")


def test_an_id_of_another_product_is_registered_and_removed(dashboard: Dashboard) -> None:
    write_key = f"wk-{secrets.token_hex(4)}"
    title = "Other analytics tools"
    dashboard.open("setup")
    dashboard.press("Add tracking id")
    dashboard.type_into("dialog input[name=name]", write_key)
    dashboard.press("Add tracking id", "dialog")
    dashboard.until(f"({TABLE})('{title}')?.some((row) => row[1] === '{write_key}')")
    assert violations(dashboard) == []
    assert f"Segment {write_key}" in " ".join(map(" ".join, dashboard.rows(title)))

    event = {"type": "track", "event": "Signed Up", "anonymousId": "a", "writeKey": write_key}
    stack = dashboard.tenant.stack
    eventually(lambda: call("POST", f"{stack.collect_url}/v1/track", event).status == 200)

    dashboard.press(f"Remove Segment, {write_key}")
    dashboard.press("Remove", "dialog form")
    dashboard.until(f"!({TABLE})('{title}')?.some((row) => row[1] === '{write_key}')")
    eventually(lambda: call("POST", f"{stack.collect_url}/v1/track", event).status == 403)


def test_a_key_is_made_used_and_revoked(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="keys")
    dashboard.press("New key")
    dashboard.type_into("dialog input[name=name]", "Reader")
    dashboard.tab.js("document.querySelector('dialog input[value=\"read:links\"]').click()")
    dashboard.press("New key", "dialog form")
    text = dashboard.text(".snippet pre")
    dashboard.until("document.querySelector('main')?.innerText.includes('Reader')")
    [row] = [row for row in dashboard.rows("API keys") if row[0] == "Reader"]
    assert row[2:5] == ["all", "read:data, read:links", "active"]
    assert dashboard.tenant.ask("summary", key=text).status == 200

    name = f"Reader ({row[1]})"  # two of one name are told apart
    dashboard.press(f"Revoke the key {name}")
    assert "Whoever uses it is refused at once" in dashboard.text("dialog p")
    dashboard.press("Cancel", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    assert dashboard.tenant.ask("summary", key=text).status == 200
    dashboard.press(f"Revoke the key {name}")
    dashboard.press("Revoke", "dialog form")
    dashboard.until("document.querySelector('main')?.innerText.includes('revoked')")
    eventually(lambda: dashboard.tenant.ask("summary", key=text).status == 401, 20)
    assert dashboard.tab.js("document.querySelector('.snippet')") is None  # nothing to copy

    dashboard.open("setup", part="audit")
    actions = [row[2:4] for row in dashboard.rows("Audit log")]
    assert [action for action, _ in actions[:2]] == ["update key", "create key"]
    assert all(name.startswith("Reader ") for _, name in actions[:2])
    assert json.dumps(text) not in json.dumps(dashboard.rows("Audit log"))


def test_changes_name_their_record_and_are_filtered(dashboard: Dashboard) -> None:
    headers = {"authorization": f"Bearer {dashboard.tenant.key}"}
    url = f"{dashboard.url}/v1/links"
    link = {"name": "Newsletter", "targetUrl": "https://shop.example/a", "slug": "audited"}
    made = call("POST", url, link, headers).json["data"]
    assert call("PATCH", f"{url}/{made['id']}", {"name": "Letter"}, headers).status == 200

    dashboard.open("setup", part="audit")
    _choose(dashboard, "kind", "link")
    dashboard.until("location.search.includes('kind=link')")
    dashboard.settle()
    named = f"Letter audited → https://shop.example/a {made['id']}"
    rows = dashboard.rows("Audit log")
    assert [row[2:4] for row in rows[:2]] == [["update link", named], ["create link", named]]
    _choose(dashboard, "actor", "cli")
    dashboard.until("document.querySelector('main .empty')")
    assert dashboard.text("main .empty") == "There is no such change."
    dashboard.tab.back()
    dashboard.until("document.querySelector('main tbody tr')")
    assert dashboard.rows("Audit log") == rows


def _choose(dashboard: Dashboard, name: str, value: str, scope: str = "main") -> None:
    dashboard.until(
        f"((field) => field && ((field.value = '{value}'), field.dispatchEvent(new Event('change',"
        f" {{bubbles: true}})), true))(document.querySelector('{scope} select[name={name}]'))"
    )


def test_a_rotated_key_keeps_its_end(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="keys")
    dashboard.press("New key")
    dashboard.type_into("dialog input[name=name]", "Agency")
    day = "document.querySelector('dialog input[name=expiresAt]')"
    dashboard.tab.js(
        f"{day}.value = '2099-12-15'; {day}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    dashboard.press("New key", "dialog form")
    old = dashboard.text(".snippet pre")
    dashboard.until("document.querySelector('main')?.innerText.includes('Agency')")
    [row] = [row for row in dashboard.rows("API keys") if row[0] == "Agency"]
    dashboard.press(f"Rotate the key Agency ({row[1]})")
    assert "it ends as this one" in dashboard.text("dialog p")
    dashboard.press("Rotate", "dialog form")
    dashboard.until(f"!document.querySelector('.snippet pre').innerText.includes('{old}')")
    dashboard.until(
        "[...document.querySelectorAll('main tr')]"
        ".filter((row) => row.innerText.includes('Agency')).length === 2"
    )

    ends = [row[5] for row in dashboard.rows("API keys") if row[0] == "Agency"]
    assert ends.count("last day Dec 15, 2099") == 1
    assert len(ends) == 2
    assert all(
        dashboard.tenant.ask("summary", key=text).status == 200
        for text in (old, dashboard.text(".snippet pre"))
    )


def test_a_key_that_does_not_administer_is_told_how(
    dashboard: Dashboard, stack: Installation
) -> None:
    store = RegistryStore(stack.settings.registry_url)
    scopes = ["read:data", "manage:websites"]
    key, text = validation.new_key(dashboard.tenant.organization.id, scopes, now_ms())
    store.create(key)
    store.close()
    dashboard.open("setup")
    dashboard.press("Menu")
    dashboard.press("Sign out")
    dashboard.until("document.querySelector('input[name=key]')")
    dashboard.sign_in(text)
    for part in ("keys", "audit"):
        dashboard.open("setup", part=part)
        assert "--scope admin" in dashboard.text("main .empty")
        assert "New key" not in dashboard.text("main")


def test_the_organization_is_renamed(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="organization")
    dashboard.press("Rename")
    dashboard.type_into("dialog input[name=name]", "Acme and Sons")
    dashboard.press("Save", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    dashboard.until("document.querySelector('main')?.innerText.includes('Acme and Sons')")
    [row] = dashboard.rows("Organization")
    assert row[2] == dashboard.tenant.organization.id


@pytest.mark.long
def test_a_file_is_imported_with_the_commands_of_the_page_and_undone(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("timestamp,path,anonymous_id\n2019-03-01T10:00:00Z,/old,ann\n,/bad,bob\n")
    dashboard.open("setup", part="imports")
    check, send = (_command(dashboard, at, file) for at in (1, 2))

    _run(dashboard.tenant.stack, check)
    dashboard.open("setup", part="imports")
    assert "Nothing was imported" in dashboard.text("section[aria-label=Imports] .empty")

    _run(dashboard.tenant.stack, send)
    dashboard.open("setup", part="imports")
    [row] = dashboard.rows("Imports")
    assert row[:5] == ["visits.csv", "done", "1", "1", "0"]

    dashboard.press("Undo the import of visits.csv")
    dashboard.until("document.querySelector('dialog p')?.innerText.includes('the 1 event of')")
    assert "cannot be undone" in dashboard.text("dialog p")
    dashboard.press("Undo", "dialog form")
    dashboard.until(f"({TABLE})('Imports')?.[0]?.[1] === 'undone'")
    assert dashboard.rows("Imports")[0][4] == "1"


def test_the_newest_import_is_first_also_of_more_than_a_page(page: Dashboard) -> None:
    store, now = RegistryStore(page.tenant.stack.settings.registry_url), now_ms()
    for at in range(101):
        store.create(validation.new_import(page.tenant.website, f"{at}.csv", now + at))
    store.close()
    page.open("setup", part="imports")
    page.until(f"({TABLE})('Imports')?.[0]?.[0] === '100.csv'")
    assert [row[0] for row in page.rows("Imports")] == [f"{at}.csv" for at in range(100, -1, -1)]


def _command(dashboard: Dashboard, number: int, file: Path) -> str:
    shown = dashboard.text(f".commands .snippet:nth-of-type({number}) pre")
    return shown.replace("FILE", shlex.quote(str(file)))


def _run(stack: Installation, command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "tidemark"
    subprocess.run(
        (sys.executable, "-m", "deploy.cli", *arguments),
        cwd=ROOT,
        env=stack.environment,
        check=True,
        capture_output=True,
    )


def test_the_state_of_the_system_is_shown(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="system")
    assert "is stored" in dashboard.text("section[aria-label=Freshness] p")
    limits = dashboard.rows("Rate limits")
    assert all(" / " in row[1] for row in limits)
    assert limits


def test_what_was_not_stored_is_listed_and_downloaded(dashboard: Dashboard) -> None:
    item = {"name": "hello", "eventId": "twice", "anonymousId": "a", "sessionId": "s"}
    for _ in range(2):
        assert dashboard.tenant.send(item).status == 200

    def listed() -> list[list[str]]:
        dashboard.open("setup", part="system")
        return dashboard.tab.js(f"({TABLE})('Not stored')") or []

    [row] = eventually(listed, 60)
    [line] = downloaded(dashboard, "Not stored")
    assert [line["Reason"], line["Table"], line["Items"]] == row[:3]
    assert row[1:3] == ["events", "1"]
    assert not line["Sample"]  # of a duplicate only its id is known
    assert (line["Sent again"], line["What mends it"].split(":")[0]) == ("0", "nothing to do")


def test_a_visitor_is_counted_then_erased_with_a_report(dashboard: Dashboard) -> None:
    ids = {"anonymousId": "forget-me", "sessionId": "s-forget"}
    items = [{"name": name, "timestamp": at_ms("10:00:00"), **ids} for name in ("hi", "bye")]
    assert dashboard.tenant.send(items).status == 200
    eventually(lambda: _events_of(dashboard, "forget-me") == 2)

    dashboard.open("setup", part="visitors")
    dashboard.type_into("main input[name=value]", "forget-me")
    dashboard.tab.js(KEEP_FILE)
    dashboard.press("Download everything")
    dashboard.until("window.fileName === 'person.zip'")
    assert dashboard.tab.js("window.file.slice(0, 2).text()") == "PK"
    dashboard.press("Count what is stored")
    dashboard.until("document.querySelector('main')?.innerText.includes('Nothing is erased yet')")
    assert dashboard.rows("One person") == [["Events", "2"]]
    assert _events_of(dashboard, "forget-me") == 2

    dashboard.press("Erase for good …")
    dashboard.type_into("dialog input[name=typed]", "forget-m")
    assert dashboard.tab.js("document.querySelector('dialog [type=submit]').disabled")
    dashboard.type_into("dialog input[name=typed]", "forget-me")
    dashboard.press("Erase for good", "dialog form")
    dashboard.until("document.querySelector('main .facts')?.innerText.includes('in no table')")
    [report_of] = dashboard.tab.js(
        "[...document.querySelectorAll('main .card')].map((card) => card.ariaLabel)"
        ".filter((label) => label.startsWith('Report of'))"
    )
    assert dashboard.rows(report_of)[0][:2] == ["Events", "2"]
    assert "does not have the value that was erased" in dashboard.text("main .card p.quiet")
    assert _events_of(dashboard, "forget-me") == 0
    dashboard.press("All erasures")
    [row] = dashboard.rows("Erasures")
    assert row[1:5] == ["Visitor id", "shop.example", "in no table", "2"]


def _events_of(dashboard: Dashboard, visitor: str) -> int:
    events = dashboard.tenant.grouped_counts("events", "anonymous_id")
    return sum(count for found, count in events if found == visitor)


def test_days_to_keep_are_saved_and_named(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="privacy")
    dashboard.type_into("main input[name=errors]", "90")
    dashboard.press("Save …")
    assert "Errors: 90." in dashboard.text("dialog p")
    dashboard.press("Save", "dialog form")
    dashboard.until("!document.querySelector('dialog')")

    kept_from = (datetime.now(UTC) - timedelta(days=90)).date()
    shown = f"{kept_from:%b} {kept_from.day}, {kept_from.year}"
    dashboard.until(f"document.querySelector('main')?.innerText.includes('{shown}')")
    [row] = [row for row in dashboard.rows("Data retention") if row[0] == "Errors"]
    assert row[-1] == shown
    website = dashboard.client.website(dashboard.tenant.website.id)
    assert website["keepDays"] == {"errors": 90}


def test_the_privacy_of_a_website_is_set(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="privacy")
    dashboard.press("Edit", "section[aria-label='What is stored']")
    _choose(dashboard, "doNotTrack", "drop", "dialog")
    _choose(dashboard, "consent", "required", "dialog")
    dashboard.type_into("dialog textarea[name=neverStoreQuery]", "token\nsess*")
    dashboard.press("Save", "dialog form")
    dashboard.until("document.querySelector('main')?.innerText.includes('token, sess*')")

    website = dashboard.client.website(dashboard.tenant.website.id)
    assert website["privacy"] == {
        "doNotTrack": "drop",
        "globalPrivacyControl": "ignore",
        "consent": "required",
        "location": "truncated",
        "neverStoreProperties": [],
        "neverStoreQuery": ["token", "sess*"],
        "maskTexts": True,
    }
    dashboard.client.update_website(website["id"], privacy={"consent": "not_required"})


def test_a_deleted_website_is_restored(dashboard: Dashboard) -> None:
    website = dashboard.client.create_website("gone.example")
    dashboard.client.delete_website(website["id"], "gone.example")
    dashboard.open("setup", part="websites")
    [row] = dashboard.rows("Deleted websites")
    assert row[:2] == ["gone.example", website["id"]]

    dashboard.press("Restore gone.example")
    dashboard.press("Restore", "dialog form")
    dashboard.until(f"!({CARD})('Deleted websites')")
    assert "gone.example" in [row[1] for row in dashboard.rows("Websites")]


def test_the_ledger_says_what_became_of_accepted_items(dashboard: Dashboard) -> None:
    dashboard.open("setup", part="system")
    days = [row for row in dashboard.rows("Accepted items of the last 7 days") if len(row) == 6]
    received, *became = (sum(int(day[at].replace(",", "")) for day in days) for at in range(1, 6))
    assert received == sum(became) > 0


def test_an_item_that_was_not_stored_is_repaired_and_sent_again(dashboard: Dashboard) -> None:
    send_as_another_collector(dashboard.tenant, {"name": 7, "path": "/repaired"})
    reason = "Expected `str`, got `int` - at `$.name`"

    def listed() -> bool:
        dashboard.open("setup", part="system")
        return reason in dashboard.text("section[aria-label='Not stored']")

    eventually(listed, 60)
    dashboard.press(f"Send again: {reason}")
    assert dashboard.tab.js("document.querySelector('dialog textarea').value") == "name = text"
    dashboard.press("Try without sending", "dialog")
    dashboard.until("document.querySelector('dialog')?.innerText.includes('Items tried')")
    assert "Can be sent" in dashboard.text("dialog .facts")
    dashboard.press("Send 1 item again", "dialog")
    dashboard.until("document.querySelector('dialog')?.innerText.includes('Each is stored once')")

    repaired = {"name": "7", "path": "/repaired", "n": 1}
    eventually(lambda: repaired in custom(dashboard.tenant, "events", "name", "path"))


def test_an_event_contract_is_added(dashboard: Dashboard) -> None:
    contract = {"events": {"order": {"properties": {"total": "number"}}}}
    dashboard.open("setup", part="system")
    dashboard.press("Add a contract")
    dashboard.type_into("dialog textarea[name=contract]", "{")
    dashboard.press("Save", "dialog form")
    assert "JSON" in dashboard.text("dialog .error")
    dashboard.type_into("dialog textarea[name=contract]", json.dumps(contract))
    _choose(dashboard, "enforce", "refuse", "dialog")
    dashboard.press("Save", "dialog form")
    dashboard.until("!document.querySelector('dialog')")

    shown = dashboard.text("section[aria-label='Event contract'] pre")
    assert json.loads(shown)["events"]["order"]["properties"] == {"total": "number"}
    differs = {"name": "order", "properties": {"total": "12"}}
    eventually(lambda: dashboard.tenant.send(differs).status == 400)
    dashboard.press("Edit", "section[aria-label='Event contract']")
    dashboard.press("Remove the contract", "dialog")
    dashboard.until("document.querySelector('main')?.innerText.includes('Any event is accepted')")
