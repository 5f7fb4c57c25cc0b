"""One browser and one web site for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Page
from tests.browser.tracked_website import ELSEWHERE, Tracked
from tests.browser.web_site import Site
from tests.flow.tenant import CHROME, Tenant
from tests.installation import Stack


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """It says that it is a usual Chrome, as a headless one is a bot; all of `.example` is here."""
    folder = tmp_path_factory.mktemp("chromium")
    here = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with Chromium(folder, f"--user-agent={CHROME}", here) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def site(stack: Stack) -> Iterator[Site]:
    with Site(stack.collect_url) as site:
        yield site


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Page]:
    page = Page.opened(chromium)
    yield page
    page.close()


@pytest.fixture(scope="session")
def tracked(stack: Stack, site: Site) -> Tracked:
    """The website whose pages all these are; each test has paths of its own."""
    return Tracked(Tenant.made(stack, domain=ELSEWHERE), site)
