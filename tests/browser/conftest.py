"""Fixtures: one browser and one web site for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.browser.tracked_website import OTHER_HOST, TrackedWebsite
from tests.browser.web_site import WebSite
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.installation import Installation

USUAL_FLAGS = (
    f"--user-agent={CHROME_USER_AGENT}",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)
"""It says that it is a usual Chrome, as a headless one is a bot; all of `.example` is here."""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser as visitors of websites have it."""
    with Chromium(tmp_path_factory.mktemp("chromium"), *USUAL_FLAGS) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def site(stack: Installation) -> Iterator[WebSite]:
    with WebSite(stack.collect_url) as site:
        yield site


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Tab]:
    page = Tab.opened(chromium)
    yield page
    page.close()


@pytest.fixture(scope="session")
def tracked(stack: Installation, site: WebSite) -> TrackedWebsite:
    """The website whose pages all these are; each test has paths of its own."""
    return TrackedWebsite(Tenant.create(stack, domain=OTHER_HOST), site)
