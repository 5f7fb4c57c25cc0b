"""People on the page: the first account, invitations, roles, the second factor, sign-ins."""

from collections.abc import Iterator
from typing import Any

import pyotp
import pytest
from msgspec import Struct

from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.http_client import Reply, call
from tests.installation import eventually
from tests.query.lake import a_view
from tests.web.dashboard import TABLE, Dashboard
from tests.web.query_alone import query_alone
from tests.web.test_accessibility import set_theme, violations

PASSWORD = "tide pools at dusk"
PHONE, DESK = 360, 1440
SECTIONS = "[...document.querySelectorAll('.setup-nav a')].map((link) => link.textContent)"
REFUSED = [
    f"Failed to load resource: the server responded with a status of {status}"
    for status in ("400 (Bad Request)", "401 (Unauthorized)")
]
"""A code that is wrong, and a sign-in that has ended."""


class Member(Struct):
    """A person of the organization, with what the browser got when the invitation was accepted."""

    email: str
    accepted: Reply

    def sign_in(self, dashboard: Dashboard, password: str = PASSWORD) -> None:
        """Type e-mail and password, and send the form."""
        dashboard.tab.go(f"{dashboard.url}/sign-in")
        dashboard.type_into("input[name=email]", self.email)
        dashboard.type_into("input[name=password]", password)
        dashboard.press("Sign in")


def office_of(tenant: Tenant) -> Tenant:
    """The tenant with a key that administers, which the query service has read."""
    store = RegistryStore(tenant.stack.settings.registry_url)
    key, text = validation.new_key(tenant.organization.id, ["admin"], now_ms(), name="Quickstart")
    store.create(key)
    store.close()
    eventually(lambda: tenant.ask("summary", key=text).status == 200, 20)
    return Tenant(tenant.stack, tenant.organization, tenant.website, tenant.link, text)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant whose organization has no people before a test invites them."""
    view = a_view("/", at=f"{DAY}T10:00:00Z")
    with query_alone(tmp_path_factory.mktemp("office"), [view], others=["blog"]) as tenant:
        yield office_of(tenant)


@pytest.fixture
def browser(chromium: Chromium, office: Tenant) -> Iterator[Dashboard]:
    """A browser without any sign-in."""
    yield from a_browser(chromium, office)


@pytest.fixture
def other_browser(chromium: Chromium, office: Tenant) -> Iterator[Dashboard]:
    """Another one, which shares nothing with the first."""
    yield from a_browser(chromium, office)


def a_browser(chromium: Chromium, tenant: Tenant) -> Iterator[Dashboard]:
    """A browser without any sign-in, checked in the end; for fixtures."""
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, tenant)
    yield dashboard
    dashboard.check_tab(expected=REFUSED)
    tab.close()


def post(tenant: Tenant, path: str, body: dict[str, Any]) -> Reply:
    """What the API answers to a page of its own that has the key."""
    url = tenant.stack.query_url
    headers = {"origin": url, "x-tidemark-request": "1", "authorization": f"Bearer {tenant.key}"}
    reply = call("POST", url + path, body, headers)
    assert reply.status < 300, reply.body
    return reply


def invited(tenant: Tenant, email: str, **rights: Any) -> str:
    """The link that invites a person."""
    link = post(tenant, "/v1/people", {"email": email, **rights}).json["data"]["invitation"]["link"]
    return str(link)


def member(tenant: Tenant, email: str, **rights: Any) -> Member:
    """A person who has accepted an invitation."""
    token = invited(tenant, email, **rights).partition("#")[2]
    body = {"token": token, "password": PASSWORD}
    return Member(email, post(tenant, "/v1/invitations/accept", body))


def choose(dashboard: Dashboard, selector: str, value: str) -> None:
    """Choose an option of a list."""
    dashboard.until(
        f"(list => list && (list.value = {value!r}, list.dispatchEvent("
        f"new Event('change', {{ bubbles: true }}))))(document.querySelector({selector!r}))"
    )


def views(dashboard: Dashboard) -> list[str]:
    """The names of the views that the navigation lists."""
    names: list[str] = dashboard.until(
        "(links => links.length && links.map((link) => link.textContent))"
        "([...document.querySelectorAll('nav.side a')])"
    )
    return names


def test_the_first_account_is_made_from_a_key_and_owns_the_organization(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    view = a_view("/", at=f"{DAY}T10:00:00Z")
    with query_alone(tmp_path_factory.mktemp("ownerless"), [view]) as tenant:
        tab = Tab.opened(chromium)
        dashboard = Dashboard(tab, office_of(tenant))
        dashboard.sign_in()
        dashboard.until("document.querySelector('.totals')")
        dashboard.press("Menu", "header.rail")
        dashboard.press("Make your account")
        dashboard.type_into("main input[name=email]", "Ada@shop.example")
        dashboard.type_into("main input[name=name]", "Ada")
        dashboard.type_into("main input[name=new-password]", PASSWORD)
        dashboard.press("Make your account", "main")

        [row] = dashboard.until(
            "(rows => rows.length && rows.map((row) => [...row.cells].map((cell) => "
            "cell.innerText.trim())))([...document.querySelectorAll('main tbody tr')])"
        )
        assert row[:3] == ["Ada ada@shop.example (you)", "All websites: Owner", "active"]
        assert not tab.js("!!document.querySelector('main input[name=new-password]')")
        dashboard.check_tab()
        tab.close()


def test_an_invited_viewer_sees_the_numbers_and_no_set_up(
    browser: Dashboard, other_browser: Dashboard
) -> None:
    browser.take_session()
    browser.open("setup", part="people")
    browser.press("Invite a person")
    browser.type_into("dialog input[name=email]", "vera@shop.example")
    browser.press("Invite a person", "dialog form")
    link = browser.text(".new-link pre")

    other_browser.tab.go(link)
    other_browser.until("document.querySelector('h1')?.innerText === 'Invitation to Acme'")
    assert "#" not in other_browser.tab.address
    assert "All websites: Viewer" in other_browser.text("main .facts")
    assert "Tidemark is the web analytics of Acme" in other_browser.text("main")
    other_browser.type_into("input[name=name]", "Vera")
    other_browser.type_into("input[name=new-password]", PASSWORD)
    other_browser.press("Accept and sign in")
    other_browser.until("document.querySelector('.rail')")
    other_browser.open("overview")
    names = views(other_browser)
    assert "Overview" in names
    assert {"Set-up", "Share"}.isdisjoint(names)
    other_browser.open("goals")
    assert "New goal" not in other_browser.text("main")
    other_browser.open("setup")
    assert "Your role does not allow this: Viewer." in other_browser.text("main .empty")

    other_browser.tab.go(link)
    assert "was accepted already" in other_browser.text(".error")


def test_what_may_be_done_follows_the_website_that_is_open(browser: Dashboard) -> None:
    office = browser.tenant
    websites = {"shop": "viewer", "blog": "admin"}
    person = member(office, "mara@shop.example", websiteRoles=websites)
    browser.take_cookies(person.accepted)
    browser.open("overview")
    assert "Set-up" not in views(browser)
    browser.tab.go(f"{browser.url}/blog/overview")
    browser.settle()
    assert "Set-up" in views(browser)
    browser.press("Set-up", "nav.side")
    browser.settle()
    sections = browser.tab.js(SECTIONS)
    assert {"People", "Organization"}.isdisjoint(sections)


def test_an_invitation_to_some_websites_names_them(
    browser: Dashboard, other_browser: Dashboard
) -> None:
    office = browser.tenant
    browser.take_session()
    browser.open("setup", part="people")
    browser.press("Invite a person")
    browser.type_into("dialog input[name=email]", "sven@shop.example")
    browser.type_into("dialog input[name=name]", "Sven")
    browser.until("(each => each && (each.click(), true))(document.querySelector('[value=some]'))")
    browser.press("Invite a person", "dialog form")
    assert "Choose a role on at least one website" in browser.text("dialog .error")
    choose(browser, "dialog select[name=website-blog]", "analyst")
    browser.press("Invite a person", "dialog form")
    link = browser.text(".new-link pre")

    person = member(office, "thea@shop.example", role="viewer")
    other_browser.take_cookies(person.accepted)
    other_browser.tab.go(link)
    assert other_browser.text(".facts dd") == "blog.example: Analyst"
    assert "You are signed in here as thea@shop.example." in other_browser.text(".notice")
    assert other_browser.tab.js("document.querySelector('input[name=name]').value") == "Sven"
    other_browser.type_into("input[name=new-password]", PASSWORD)
    other_browser.press("Accept and sign in")
    other_browser.until("document.querySelector('.rail')")
    other_browser.tab.go(f"{browser.url}/blog/overview")
    other_browser.settle()
    assert "Links" not in views(other_browser)
    assert "Goals" in views(other_browser)


def test_the_audit_log_says_what_people_did(browser: Dashboard) -> None:
    member(browser.tenant, "vito@shop.example", role="viewer")
    browser.take_session()
    browser.open("setup", part="audit", kind="member")
    rows = [row for row in browser.rows("Audit log") if "vito@shop.example" in row[3]]
    assert [row[1:3] for row in rows if "accepted the invitation" in row[4]] == [
        ["vito@shop.example", "update member"]
    ]
    assert "signed in" in rows[0][4]


def test_an_analyst_saves_goals_and_shares_nothing(browser: Dashboard) -> None:
    person = member(browser.tenant, "nils@shop.example", role="analyst")
    browser.take_cookies(person.accepted)
    browser.open("setup")
    assert browser.tab.js(SECTIONS) == ["Path groups", "Alerts", "Channels", "Reports"]
    browser.open("goals")
    assert "Share" not in views(browser)
    browser.press("New goal", "main")
    browser.until("document.querySelector('dialog form')")


def test_a_wrong_password_is_refused_in_words(browser: Dashboard) -> None:
    person = member(browser.tenant, "otto@shop.example", role="viewer")
    person.sign_in(browser, "some other words")
    assert browser.text(".error") == "The e-mail address or the password is not right."
    browser.check_tab()


def test_a_second_factor_is_set_up_and_asked_for(
    browser: Dashboard, other_browser: Dashboard
) -> None:
    person = member(browser.tenant, "tara@shop.example", role="viewer")
    browser.take_cookies(person.accepted)
    browser.tab.go(f"{browser.url}/account")
    browser.settle()
    browser.type_into("input[name=password]", PASSWORD)
    browser.press("Set up")
    secret = browser.text(".account-form .copyable code")
    browser.type_into("input[name=code]", "000000")
    browser.press("Turn on")
    browser.until("document.querySelector('.account-form .error')")
    browser.type_into("input[name=code]", pyotp.TOTP(secret).now())
    browser.press("Turn on")
    codes = browser.text(".recovery-codes pre").split()
    assert len(codes) == 10
    browser.press("I have kept them")
    browser.until("document.querySelector('main')?.innerText.includes('10 recovery codes left')")

    browser.press("New recovery codes …")
    browser.type_into("dialog input[name=code]", codes[1])
    browser.press("New recovery codes", "dialog form")
    codes = browser.text(".recovery-codes pre").split()
    assert "Back to the dashboard" not in browser.text("main")
    browser.press("I have kept them")
    browser.until("document.querySelector('main')?.innerText.includes('Back to the dashboard')")

    person.sign_in(other_browser)
    other_browser.until("document.querySelector('main')?.innerText.includes('Lost your phone?')")
    other_browser.type_into("input[name=code]", codes[0])
    other_browser.press("Sign in")
    other_browser.until("document.querySelector('.rail')")
    other_browser.tab.go(f"{browser.url}/account")
    other_browser.until(
        "document.querySelector('main')?.innerText.includes('9 recovery codes left')"
    )


def test_signing_out_everywhere_ends_the_other_browsers(
    browser: Dashboard, other_browser: Dashboard
) -> None:
    person = member(browser.tenant, "uwe@shop.example", role="viewer")
    browser.take_cookies(person.accepted)
    person.sign_in(other_browser)
    other_browser.until("document.querySelector('.rail')")
    browser.tab.go(f"{browser.url}/account")
    browser.settle()
    assert len(browser.rows("Where you are signed in")) == 2
    browser.press("End all others")
    browser.press("End", "dialog form")
    browser.until("!document.querySelector('dialog')")
    assert len(browser.rows("Where you are signed in")) == 1

    other_browser.tab.go(f"{browser.url}/shop/overview")
    other_browser.until("document.querySelector('input[name=email]')")


def test_a_personal_key_is_made_used_and_deleted(
    browser: Dashboard, other_browser: Dashboard
) -> None:
    person = member(browser.tenant, "kira@shop.example", role="viewer")
    browser.take_cookies(person.accepted)
    browser.tab.go(f"{browser.url}/account")
    browser.press("New key")
    browser.type_into("dialog input[name=name]", "Notebook")
    scopes = "[...document.querySelectorAll('dialog input[name=scopes]')].map((box) => box.value)"
    assert browser.tab.js(scopes) == ["read:data", "read:links"]
    browser.press("New key", "dialog form")
    text = browser.text(".snippet pre")
    [row] = browser.until(f"(rows => rows?.length && rows)(({TABLE})('API keys'))")
    assert row[:2] == ["Notebook", "read:data"]
    assert row[3:5] == ["–", "–"]  # neither used, nor with an end
    assert browser.tenant.ask("summary", key=text).status == 200

    other_browser.take_session()
    other_browser.open("setup", part="keys")
    name = f"Notebook {person.email}"
    other_browser.until(f"document.querySelector('main').innerText.includes('{name}')")
    [listed] = [row for row in other_browser.rows("API keys") if row[0] == name]
    assert listed[2:5] == ["all", "read:data", "active"]

    browser.press(f"Delete the key Notebook ({listed[1]})")
    browser.press("Delete", "dialog form")
    browser.until("document.querySelector('main').innerText.includes('You have no API key.')")
    assert browser.tab.js("document.querySelector('.snippet')") is None  # nothing to copy
    eventually(lambda: browser.tenant.ask("summary", key=text).status == 401, 20)


def test_a_printed_link_sets_a_new_password(browser: Dashboard, other_browser: Dashboard) -> None:
    person = member(browser.tenant, "wilma@shop.example", role="viewer")
    browser.take_session()
    browser.open("setup", part="people")
    browser.press(f"Actions for {person.email}")
    browser.press("Reset the password", ".popover:popover-open")
    browser.press("Reset the password", "dialog form")
    link = browser.text(".new-link pre")

    other_browser.tab.go(link)
    other_browser.type_into("input[name=new-password]", "rock pools at dawn")
    other_browser.press("Save the password")
    assert person.email in other_browser.text("[role=status]")
    person.sign_in(other_browser, "rock pools at dawn")
    other_browser.until("document.querySelector('.rail')")


def test_a_role_is_changed_and_a_person_removed(browser: Dashboard) -> None:
    person = member(browser.tenant, "xaver@shop.example", role="viewer")
    browser.take_session()
    browser.open("setup", part="people")
    browser.press(f"Actions for {person.email}")
    browser.press("Change the role", ".popover:popover-open")
    browser.until("(each => each && (each.click(), true))(document.querySelector('[value=some]'))")
    choose(browser, "dialog select[name=website-blog]", "analyst")
    browser.press("Save", "dialog form")
    browser.until("!document.querySelector('dialog')")
    browser.until("document.querySelector('main').innerText.includes('blog.example: Analyst')")

    browser.press(f"Actions for {person.email}")
    browser.press("Remove", ".popover:popover-open")
    browser.press("Remove", "dialog form")
    browser.until(f"!document.querySelector('main').innerText.includes('{person.email}')")


def test_a_person_of_two_organizations_goes_from_one_to_the_other(browser: Dashboard) -> None:
    office = browser.tenant
    person = member(office, "zora@shop.example", role="viewer")
    store = RegistryStore(office.stack.settings.registry_url)
    harbor = store.create(validation.new_organization("Harbor", "enterprise", now_ms()))
    key, text = validation.new_key(harbor.id, ["admin"], now_ms())
    store.create(key)
    store.create(validation.new_website(harbor.id, "harbor.example", now_ms(), name="Harbor news"))
    store.close()
    other = Tenant(office.stack, harbor, office.website, office.link, text)
    eventually(lambda: other.ask("summary", key=text).status != 401, 20)

    browser.tab.go(invited(other, person.email, role="analyst"))
    browser.until("document.querySelector('h1')?.innerText === 'Invitation to Harbor'")
    browser.type_into("input[name=password]", PASSWORD)
    browser.press("Accept and sign in")
    browser.until("document.querySelector('.website')?.innerText.includes('Harbor news')")

    browser.tab.go(f"{browser.url}/account")
    browser.settle()
    assert [row[:2] for row in browser.rows("Organizations")] == [
        ["Acme", "Viewer"],
        ["Harbor", "Analyst"],
    ]
    browser.press("Open Acme")
    browser.until("document.querySelector('.website-menu')?.innerText.includes('All websites')")


def test_a_required_second_factor_comes_before_everything_else(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    view = a_view("/", at=f"{DAY}T10:00:00Z")
    with query_alone(tmp_path_factory.mktemp("strict"), [view]) as tenant:
        tab = Tab.opened(chromium)
        dashboard = Dashboard(tab, office_of(tenant))
        person = member(dashboard.tenant, "xenia@shop.example", role="viewer")
        before = Tab.opened(chromium)
        signed_in_before = Dashboard(before, dashboard.tenant)
        signed_in_before.take_cookies(person.accepted)
        signed_in_before.open("overview")
        dashboard.take_session()
        dashboard.open("setup", part="organization")
        dashboard.press("Require a second factor …")
        dashboard.press("Require a second factor", "dialog form")
        dashboard.until(
            "document.querySelector('main')?.innerText.includes('No longer require it')"
        )

        signed_in_before.press("Live", "nav.side")
        signed_in_before.until(
            "document.querySelector('h1')?.innerText === 'Set up a second factor'"
        )
        before.close()

        tab.tell("Network.clearBrowserCookies")
        person.sign_in(dashboard)
        dashboard.until("document.querySelector('h1')?.innerText === 'Set up a second factor'")
        dashboard.type_into("input[name=password]", PASSWORD)
        dashboard.press("Set up")
        secret = dashboard.text(".account-form .copyable code")
        dashboard.type_into("input[name=code]", pyotp.TOTP(secret).now())
        dashboard.press("Turn on")
        [code, *_] = dashboard.text(".recovery-codes pre").split()
        dashboard.press("I have kept them")
        dashboard.until("document.querySelector('.totals')")

        dashboard.tab.go(f"{dashboard.url}/account")
        dashboard.press("Use another app …")
        dashboard.type_into("dialog input[name=code]", code)
        dashboard.press("Use another app", "dialog form")
        dashboard.until("document.querySelector('h1')?.innerText === 'Set up a second factor'")
        dashboard.until("document.querySelector('main input[name=password]')")
        dashboard.check_tab()
        tab.close()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_no_page_of_people_breaks_a_rule_of_wcag_or_is_wider_than_the_window(
    browser: Dashboard, other_browser: Dashboard, theme: str
) -> None:
    person = member(browser.tenant, f"yara-{theme}@shop.example", role="admin")
    link = invited(browser.tenant, f"zoe-{theme}@shop.example", role="viewer")
    browser.take_cookies(person.accepted)
    url = browser.url
    pages = [
        (other_browser, f"{url}/sign-in?problem=oidc_no_access"),
        (other_browser, f"{url}/sign-in/reset"),
        (other_browser, f"{url}/sign-in/password#token"),
        (other_browser, link),
        (browser, f"{url}/account"),
        (browser, f"{url}/shop/setup?part=people"),
        (browser, f"{url}/shop/setup?part=organization"),
    ]
    broken = {}
    for shown, address in pages:
        set_theme(shown, theme)
        shown.tab.go("about:blank")  # a change behind # alone loads no page
        shown.tab.go(address)
        shown.until("document.querySelector('main h1') && !document.querySelector('.skeleton')")
        for width in (PHONE, DESK):
            shown.tab.set_size(width)
            found = violations(shown)
            if shown.tab.js("document.documentElement.scrollWidth") > width:
                found.append("wider than the window")
            if found:
                broken[address, width] = found
    assert broken == {}
