"""Tab: a browser tab that tests open, click in and leave."""

import threading
from typing import Any, Self

from tests.browser.chromium import SECONDS, Chromium, Message, ProtocolError
from tests.installation import eventually

LOADED = "Page.loadEventFired"
ASKED = "Network.requestWillBeSent"
ANSWERED = "Network.responseReceived"

MIDDLE = """(element) => {
  element.scrollIntoView({ block: "nearest" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


class Tab:
    """One tab, in a context of its own: nothing of another page is kept there."""

    def __init__(self, browser: Chromium, context: str) -> None:
        self._browser = browser
        self.context = context
        self._target = browser.tell(
            "Target.createTarget", url="about:blank", browserContextId=context
        )["targetId"]
        attached = browser.tell("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        self._news = threading.Condition()
        self.events: list[Message] = []
        browser.listen(self._session, self._hear)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.tell(f"{domain}.enable")

    @classmethod
    def opened(cls, browser: Chromium) -> Self:
        """A tab of a new visitor, in a browser context of its own."""
        return cls(browser, browser.tell("Target.createBrowserContext")["browserContextId"])

    def beside(self) -> "Tab":
        """Another tab of the same person, in front of this one."""
        return Tab(self._browser, self.context)

    def tell(self, method: str, **parameters: Any) -> Message:
        return self._browser.tell(method, self._session, **parameters)

    def go(self, url: str) -> None:
        """Open an address, and wait until it has loaded."""
        before = self._count(LOADED)
        response = self.tell("Page.navigate", url=url)
        if "errorText" in response:
            raise ProtocolError(f"{url}: {response['errorText']}")
        with self._news:
            assert self._news.wait_for(lambda: self._count(LOADED) > before, SECONDS), url

    def set_size(self, width: int, height: int = 900, mobile: bool = False) -> None:
        """Size of the window, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.tell("Emulation.setDeviceMetricsOverride", **size)

    def leave(self) -> None:
        """Go nowhere: the page sends what it still has."""
        self.go("about:blank")

    def js(self, expression: str) -> Any:
        """What an expression comes to in the page; promises are waited for."""
        response = self.tell(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in response:
            raise ProtocolError(f"{expression}: {response['exceptionDetails']}")
        return response["result"].get("value")

    def click(self, selector: str, button: str = "left") -> None:
        """Press and release the mouse in the middle of an element."""
        x, y = self.js(f"({MIDDLE})(document.querySelector({selector!r}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def before_each(self, script: str) -> None:
        """Run a script in every page before its own."""
        self.tell("Page.addScriptToEvaluateOnNewDocument", source=script)

    def back(self) -> None:
        """Go back, and wait until the page before is there."""
        here = self.address
        self.js("setTimeout(() => history.back())")
        eventually(lambda: self.address not in ("", here), SECONDS, 0.05)

    @property
    def address(self) -> str:
        """Where the tab is; nothing while it is on its way."""
        try:
            return str(self.js("location.href"))
        except ProtocolError:
            return ""

    def close(self) -> None:
        self._browser.tell("Target.closeTarget", targetId=self._target)

    @property
    def complaints(self) -> list[str]:
        """What the page logged as an error, threw, or was refused."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                found.append(str(params["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(_exception(params["exceptionDetails"]))
        return found

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Method and URL of every request of the tab."""
        sent = [e["params"]["request"] for e in self.events if e["method"] == ASKED]
        return [(request["method"], request["url"]) for request in sent]

    @property
    def responses(self) -> list[tuple[int, str]]:
        """Status and URL of every response."""
        came = [e["params"]["response"] for e in self.events if e["method"] == ANSWERED]
        return [(each["status"], each["url"]) for each in came]

    def received(self, part: str) -> list[tuple[int, str]]:
        """Status and media type of the responses from URLs that contain `part`."""
        came = [e["params"]["response"] for e in self.events if e["method"] == ANSWERED]
        return [(each["status"], each["mimeType"]) for each in came if part in each["url"]]

    def _count(self, method: str) -> int:
        return sum(event["method"] == method for event in self.events)

    def _hear(self, event: Message) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()


def _exception(details: dict[str, Any]) -> str:
    """What was thrown, with its stack where it is an error."""
    thrown = details.get("exception", {})
    return f"{details['text']} {thrown.get('description', thrown.get('value', ''))}".strip()
