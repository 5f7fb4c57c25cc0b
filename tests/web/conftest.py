"""Fixtures: a browser, and the dashboard of a tenant with data."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import LIGHT, Chromium
from tests.browser.conftest import USUAL_FLAGS
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.installation import Installation
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.traffic import send_traffic


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser for the pages of the dashboard."""
    folder = tmp_path_factory.mktemp("chromium")
    with Chromium(folder, *USUAL_FLAGS, "--window-size=1280,900", names=LIGHT) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def shop(stack: Installation) -> Tenant:
    """A tenant with the traffic of `send_traffic`, all of it stored."""
    tenant = Tenant.create(stack)
    send_traffic(tenant)
    return tenant


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant with one page view, whose query service runs alone."""
    view = a_view("/", at=f"{DAY}T10:00:00Z")
    with query_alone(tmp_path_factory.mktemp("small"), [view]) as tenant:
        yield tenant


@pytest.fixture
def page(chromium: Chromium, small: Tenant) -> Iterator[Dashboard]:
    """The dashboard of the small tenant, signed in; nothing may have gone wrong in it."""
    yield from signed_in(chromium, small)


@pytest.fixture
def dashboard(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """The dashboard in a tab of its own, signed in; nothing may have gone wrong in it."""
    yield from signed_in(chromium, shop)


@pytest.fixture
def visitor(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """A browser without any sign-in."""
    tab = Tab.opened(chromium)
    yield Dashboard(tab, shop)
    tab.close()
