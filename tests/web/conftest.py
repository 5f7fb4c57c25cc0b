"""Fixtures: a browser, and the dashboard of a tenant with data."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.browser.conftest import chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.installation import Installation
from tests.web.dashboard import Dashboard
from tests.web.traffic import send_traffic

__all__ = ["chromium"]


@pytest.fixture(scope="session")
def shop(stack: Installation) -> Tenant:
    """A tenant with the traffic of `send_traffic`, all of it stored."""
    tenant = Tenant.create(stack)
    send_traffic(tenant)
    return tenant


@pytest.fixture
def dashboard(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """The dashboard in a tab of its own, signed in; nothing may have gone wrong in it."""
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, shop)
    dashboard.sign_in()
    yield dashboard
    dashboard.check_tab()
    tab.close()
