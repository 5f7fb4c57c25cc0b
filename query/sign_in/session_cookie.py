"""The session cookie: which sign-in a browser sends, and how it is set and cleared.

A second cookie without a secret tells the page that there is a session cookie, which no script can
read: a page that nobody has signed in to asks for the key without a request that is refused.
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from schemas.http.asgi import header
from schemas.http.middleware import HttpMiddleware
from schemas.registry.sign_ins import member_of_subject
from schemas.registry.signed_tokens import named_subject

SESSION_COOKIE = "tidemark_session"
SECURE_SESSION_COOKIE = f"__Host-{SESSION_COOKIE}"
"""Its name over HTTPS: browsers take it from this host only, not from another one of the domain."""
SIGNED_IN_COOKIE = "tidemark_signed_in"


def session_cookies(request: Request) -> Sequence[str]:
    """Every value of the cookie: over plain HTTP a parent domain, or another path, may add one."""
    name = session_cookie_name(request)
    pairs = (pair.strip().partition("=") for pair in _cookies(request).split(";"))
    return [value for cookie, _, value in pairs if cookie == name]


def session_cookie_name(request: Request) -> str:
    """The name of the cookie that browsers send for the scheme of the request."""
    return SECURE_SESSION_COOKIE if is_https(request) else SESSION_COOKIE


def holder_of_session_cookie(scope: Scope) -> str | None:
    """The id of the key or member that the cookie names, whether or not it is authentic."""
    subjects = map(named_subject, session_cookies(Request(scope)))
    subject = next(filter(None, subjects), None)
    return subject and (member_of_subject(subject) or subject)


def set_session_cookie(response: Response, request: Request, value: str, seconds: int) -> None:
    """Send the cookie, which no script reads, and the one beside it; no other site sends them."""
    secure = is_https(request)
    for name, text, hidden in (
        (session_cookie_name(request), value, True),
        (SIGNED_IN_COOKIE, "1" if value else "", False),
    ):
        response.set_cookie(
            name,
            text,
            max_age=seconds,
            path="/",
            secure=secure,
            httponly=hidden,
            samesite="strict",
        )


def clear_session_cookie(response: Response, request: Request) -> None:
    """Let the browser forget both cookies."""
    set_session_cookie(response, request, "", 0)


def _cookies(request: Request) -> str:
    return header(request.scope, b"cookie") or ""


def is_https(request: Request) -> bool:
    """Whether the browser reaches the service by HTTPS."""
    middleware: HttpMiddleware = request.scope["app"]
    return middleware.scheme(request.scope) == "https"
