"""Saved funnels: saved, listed, opened by address, changed, renamed, deleted; steps moved about."""

from collections.abc import Sequence
from typing import Any

from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.installation import eventually
from tests.web.dashboard import Dashboard

BUY = [{"path": "/"}, {"path": "/pricing"}, {"event": "purchase"}]
DESKTOP = {"field": "device_type", "operator": "eq", "value": "desktop"}


def saved(dashboard: Dashboard) -> list[dict[str, Any]]:
    return list(dashboard.client.saved("funnels", dashboard.tenant.website.id))


def create(dashboard: Dashboard, name: str, steps: Sequence[object], **members: Any) -> str:
    funnel = dashboard.client.create_saved(
        "funnels", dashboard.tenant.website.id, name=name, steps=steps, **members
    )
    return str(funnel["id"])


def inputs(dashboard: Dashboard) -> list[str]:
    """The values of the steps, in order."""
    values: list[str] = dashboard.tab.js(
        "[...document.querySelectorAll('.steps input')].map((each) => each.value)"
    )
    return values


def focused(dashboard: Dashboard) -> str:
    return str(dashboard.tab.js("document.activeElement.getAttribute('aria-label')"))


def shows(dashboard: Dashboard, rows: Sequence[dict[str, Any]], counted: str = "visitors") -> bool:
    """Whether the bars are those of the rows."""
    texts = dashboard.tab.js(
        "[...document.querySelectorAll('.funnel-numbers')].map((each) => each.innerText)"
    )
    return len(texts) == len(rows) and all(
        f"{row['visitors']} {counted}" in text for row, text in zip(rows, texts, strict=True)
    )


def test_a_funnel_is_saved_opened_changed_renamed_and_deleted(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing,event:purchase", window="86400")
    dashboard.press("Save …")
    dashboard.type_into("dialog input[name=name]", "Buy")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Buy'")
    [funnel] = saved(dashboard)
    assert (funnel["steps"], funnel["window"], funnel["by"]) == (BUY, 86_400, "visitor")
    assert dashboard.path.endswith(f"/funnels/{funnel['id']}")

    dashboard.open("funnels")
    dashboard.press("Saved funnels")
    assert "/ → /pricing → purchase" in dashboard.text(".popover a.menu-item")
    dashboard.tab.js("document.querySelector('.popover a.menu-item').click()")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Buy'")
    dashboard.settle()
    assert inputs(dashboard) == ["/", "/pricing", "purchase"]
    expected = dashboard.ask("funnel", steps=BUY, window=86_400)
    eventually(lambda: shows(dashboard, expected), 30)

    dashboard.press("Remove step 2")
    dashboard.press("Save")
    eventually(lambda: saved(dashboard)[0]["steps"] == [BUY[0], BUY[2]], 30)
    dashboard.until("!location.search.includes('steps')")
    assert inputs(dashboard) == ["/", "purchase"]

    dashboard.press("Rename …")
    dashboard.type_into("dialog input[name=name]", "Bought")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Bought'")
    assert saved(dashboard)[0]["name"] == "Bought"

    dashboard.press("Delete …")
    assert "Delete the funnel Bought?" in dashboard.text("dialog p").replace("\u2068", "").replace(
        "\u2069", ""
    )
    dashboard.press("Delete", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    assert saved(dashboard) == []
    assert dashboard.path.endswith("/funnels")


def test_a_name_that_is_taken_is_refused_in_the_dialog(dashboard: Dashboard) -> None:
    funnel = create(dashboard, "Taken", BUY)
    dashboard.open("funnels", steps="path:%2F,event:signup")
    dashboard.press("Save …")
    dashboard.type_into("dialog input[name=name]", "Taken")
    dashboard.press("Save", "dialog")
    assert "name is already taken" in dashboard.text("dialog .error")
    assert len(saved(dashboard)) == 1
    dashboard.tab.events.clear()  # the browser logs the 409
    dashboard.client.delete_saved("funnels", funnel)


def select(dashboard: Dashboard, label: str, value: str) -> None:
    """Choose a setting of the funnel."""
    dashboard.until(
        "(list => list && (list.value = "
        f"'{value}', list.dispatchEvent(new Event('change', {{ bubbles: true }})), true))"
        f"([...document.querySelectorAll('.settings label')].find((each) => "
        f"each.innerText.startsWith('{label}'))?.querySelector('select'))"
    )


def test_what_may_lie_between_steps_is_chosen_and_saved(dashboard: Dashboard) -> None:
    """From the start page to a sign-up everybody sees other pages; nobody does without /docs."""
    steps = [{"path": "/"}, {"event": "signup"}]
    whole = dashboard.ask("funnel", steps=steps)
    assert [row["visitors"] for row in whole] == [12, 3]
    funnel = create(dashboard, "Direct", steps)
    dashboard.open(f"funnels/{funnel}")
    eventually(lambda: shows(dashboard, whole), 30)

    select(dashboard, "Between steps", "strict")
    nobody = [whole[0], {**whole[1], "visitors": 0}]
    eventually(lambda: shows(dashboard, nobody), 30)
    dashboard.press("Save")
    eventually(lambda: saved(dashboard)[0]["order"] == "strict", 30)

    select(dashboard, "Between steps", "")
    eventually(lambda: shows(dashboard, whole), 30)
    dashboard.press("Without: Exclude an event")
    kind = "document.querySelector('select[aria-label=\"Without 1: kind of step\"]')"
    dashboard.until(f"!!{kind}")
    dashboard.tab.js(f"{kind}.value = 'path'; {kind}.dispatchEvent(new Event('change'))")
    dashboard.type_into("input[aria-label='Without 1']", "/docs")
    dashboard.tab.js("document.activeElement.blur()")
    eventually(lambda: shows(dashboard, nobody), 30)
    dashboard.press("Save")
    eventually(lambda: saved(dashboard)[0]["exclusions"] == [{"path": "/docs"}], 30)
    assert saved(dashboard)[0]["order"] == "sequence"

    dashboard.press("Without: remove 1")
    dashboard.until("location.search.includes('without=-')")
    eventually(lambda: shows(dashboard, whole), 30)
    dashboard.client.delete_saved("funnels", funnel)


def test_filters_of_steps_stay_and_changes_are_discarded(dashboard: Dashboard) -> None:
    steps = [{"path": "/", "filters": [DESKTOP]}, {"event": "signup"}]
    funnel = create(dashboard, "Desks", steps, by="session", breakdown="country")
    dashboard.open(f"funnels/{funnel}")
    expected = dashboard.ask("funnel", steps=steps, by="session")
    assert "Device is Desktop" in dashboard.text(".steps .chip").replace("\u2068", "").replace(
        "\u2069", ""
    )
    select(dashboard, "Split by", "")
    eventually(lambda: shows(dashboard, expected, "visits"), 30)
    assert "breakdown=-" in dashboard.tab.address
    dashboard.press("Move step 2 one up")
    dashboard.until("location.search.includes('steps=')")
    dashboard.tab.go(dashboard.tab.address)
    dashboard.settle()
    assert inputs(dashboard) == ["signup", "/"]
    assert dashboard.tab.js("document.querySelectorAll('.steps .chip').length") == 1

    dashboard.press("Discard changes")
    dashboard.until("!location.search.includes('steps')")
    assert inputs(dashboard) == ["/", "signup"]
    assert saved(dashboard)[0]["steps"] == steps
    dashboard.client.delete_saved("funnels", funnel)


def test_steps_are_inserted_and_moved_with_the_focus(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing,event:signup")
    dashboard.press("Insert a step after step 1")
    dashboard.until("document.querySelectorAll('.steps input').length === 4")
    assert inputs(dashboard) == ["/", "", "/pricing", "signup"]
    assert focused(dashboard) == "Step 2"
    dashboard.tab.tell("Input.insertText", text="/docs")
    dashboard.tab.js("document.activeElement.blur()")
    dashboard.until("location.search.includes('docs')")

    dashboard.press("Move step 2 one down")
    dashboard.until("document.querySelectorAll('.steps input')[2].value === '/docs'")
    assert focused(dashboard) == "Move step 3 one down"
    dashboard.press("Move step 3 one down")
    dashboard.until("document.querySelectorAll('.steps input')[3].value === '/docs'")
    assert focused(dashboard) == "Move step 4 one up"
    assert inputs(dashboard) == ["/", "/pricing", "signup", "/docs"]

    dashboard.press("Step")
    dashboard.until("document.querySelectorAll('.steps input').length === 5")
    assert focused(dashboard) == "Step 5"


def test_an_address_of_a_funnel_that_is_gone_says_so(dashboard: Dashboard) -> None:
    dashboard.open("funnels/fun_000000000000")
    assert "does not exist any more" in dashboard.text("main .empty")


def test_a_key_that_only_reads_opens_funnels_and_saves_none(dashboard: Dashboard) -> None:
    funnel = create(dashboard, "Read", BUY)
    store = RegistryStore(dashboard.tenant.stack.settings.registry_url)
    key, text = validation.new_key(dashboard.tenant.organization.id, ["read:data"], now_ms())
    store.create(key)
    store.close()
    eventually(lambda: dashboard.tenant.ask("summary", key=text).status == 200, 20)
    dashboard.sign_in(text)
    dashboard.open(f"funnels/{funnel}", window="3600")
    assert dashboard.text(".card h2") == "Read"
    labels = dashboard.tab.js(
        "[...document.querySelectorAll('.card-actions button')].map((each) => each.innerText)"
    )
    assert "Discard changes" in labels
    assert not {"Save", "Save as …", "Rename …", "Delete …"} & set(labels)
    dashboard.client.delete_saved("funnels", funnel)
