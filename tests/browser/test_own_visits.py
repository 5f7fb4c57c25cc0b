"""Links that turn tracking off, and on again, in one browser."""

from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite


def test_a_link_turns_tracking_off_until_another_one_turns_it_on(
    tracked: TrackedWebsite, page: Tab
) -> None:
    url = tracked.add_page("/mine", tracked.tag())
    tracked.site.posted.clear()
    page.go(f"{url}?tidemark=off")
    page.go(url)
    page.js('tidemark("event", "unseen")')
    page.go(url)

    assert tracked.site.posted == []
    assert page.js("({...localStorage})") == {"tidemark": "optout"}

    page.go(f"{url}?tidemark=on")
    page.leave()

    assert tracked.stored("/mine", 2, "name") == [VIEW, EXIT]
