"""A request to the query service, with what the access model says about it."""

from collections.abc import Mapping

from msgspec import Struct

from tests.access_model import Caller

WEBSITES = ("shop", "blog", "rival", "nowhere")


class Request(Struct, frozen=True, kw_only=True):
    """One request about one subject, and the permissions that it needs."""

    route: tuple[str, str]
    path: str
    scopes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Scopes that are needed beside one of `scopes`."""
    subject: str | None = None
    hidden: bool = False
    """Whether a subject without access gets the same response as one that does not exist."""
    whole: bool = False
    """Whether a key that is bound to one website is refused."""
    query: Mapping[str, str] = {}
    body: object = None
    """The body, or a function that makes one for each attempt."""
    good: int = 200

    def status(self, caller: Caller) -> int:
        """What the access model says."""
        if not self.scopes:
            return self.good
        if not caller.live:
            return 401
        held = caller.holds(*self.scopes) and all(caller.holds(scope) for scope in self.also)
        if not held or (self.whole and caller.website):
            return 403
        if self.subject is None or caller.reaches(self.subject):
            return self.good
        return 404 if self.hidden else 403
