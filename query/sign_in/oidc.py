"""Single sign-on: a browser is sent to the identity provider and comes back with a code.

What proves that it is the same browser (state, nonce, PKCE's verifier) travels in a signed cookie,
for ten minutes and for one return.
"""

import base64
import binascii
import hashlib
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.sign_in.identity import Identity, Problem, SignInProblem, email_address
from query.sign_in.session_cookie import is_https
from query.sign_in.sign_ins import SignIns
from schemas.registry.signed_tokens import SignedToken, TokenKind
from schemas.runtime.sign_in_access import OidcAccess

log = logging.getLogger(__name__)

COOKIE = "tidemark_oidc"
COOKIE_SECONDS = 600
MAX_PATH_LENGTH = 500
MAX_NAME_LENGTH = 200
HOME = "/"
CANCELLED = "access_denied"
AWAY = ("server_error", "temporarily_unavailable")
_LOCAL_PATH = re.compile(r"/(?![/\\])[\x21-\x7e]*")


class Authorization(Struct, frozen=True):
    """Where a browser signs in, and what proves later that it was sent there."""

    url: str
    state: str
    nonce: str
    code_verifier: str


class BegunSignIn(Struct, frozen=True):
    """What a browser has to bring back, and where it goes then."""

    state: str
    nonce: str
    code_verifier: str
    redirect_uri: str
    to: str


class IdentityProvider(Protocol):
    """An identity provider. Its methods raise SignInProblem."""

    async def begin(self, redirect_uri: str) -> Authorization:
        """The address at which a browser signs in."""

    async def claims(self, begun: BegunSignIn, code: str) -> Mapping[str, Any]:
        """What the provider says of the person to whom it gave the code."""


class OidcSignIn(Struct, frozen=True):
    """Single sign-on with the identity provider of the settings."""

    provider: IdentityProvider
    access: OidcAccess

    async def begin(self, redirect_uri: str, to: str | None) -> tuple[str, BegunSignIn]:
        """The address of the provider at which a browser signs in, to be at `to` afterwards."""
        at = await self.provider.begin(redirect_uri)
        begun = BegunSignIn(at.state, at.nonce, at.code_verifier, redirect_uri, local_path(to))
        return at.url, begun

    async def identity(self, begun: BegunSignIn, returned: Mapping[str, str]) -> Identity:
        """Who signed in, by the query string with which the browser returned; SignInProblem."""
        if error := returned.get("error"):
            raise SignInProblem(_returned_problem(error))
        if not (code := returned.get("code")):
            raise SignInProblem(Problem.REFUSED)
        return identity_of(await self.provider.claims(begun, code), self.access)


def identity_of(claims: Mapping[str, Any], access: OidcAccess) -> Identity:
    """The person of the claims; SignInProblem without an e-mail address that is verified."""
    email = claims.get("email")
    address = email_address(email) if isinstance(email, str) else None
    verified = claims.get("email_verified")  # Amazon Cognito sends a text
    is_verified = access.trusts_email or verified is True or verified == "true"
    if address is None or not is_verified:
        missing = "email" if address is None else "email_verified"
        log.warning("no verified e-mail address in single sign-on", extra={"claim": missing})
        raise SignInProblem(Problem.UNVERIFIED)
    name = claims.get("name")
    return Identity(
        email=address,
        name=name.strip()[:MAX_NAME_LENGTH] if isinstance(name, str) else "",
        groups=_groups(claims, access.groups_claim) if access.groups_claim else [],
        way="oidc",
    )


def local_path(to: str | None) -> str:
    """The path of a page of ours, with its query; the first page for all else.

    Browsers take `//host` and `/\\host` for other sites, and drop control characters first.
    """
    fits = to is not None and len(to) <= MAX_PATH_LENGTH and _LOCAL_PATH.fullmatch(to)
    return to if to and fits else HOME


def set_begun_cookie(
    response: Response, request: Request, begun: BegunSignIn, sign_ins: SignIns, now_ms: int
) -> None:
    """Have the browser remember the sign-in; the redirect of the provider's page sends it back."""
    payload = base64.urlsafe_b64encode(msgspec.json.encode(begun)).decode().rstrip("=")
    token = sign_ins.issue(TokenKind.OIDC, _digest(payload), now_ms + COOKIE_SECONDS * 1000)
    _set_cookie(response, request, f"{payload}.{token}", COOKIE_SECONDS)


def clear_begun_cookie(response: Response, request: Request) -> None:
    """Let the browser forget the sign-in that it began."""
    _set_cookie(response, request, "", 0)


def begun_sign_in(request: Request, sign_ins: SignIns) -> tuple[BegunSignIn, SignedToken]:
    """The sign-in that this browser began, and its token, to be ended.

    SignInProblem when the state that it returns with is not the one of its cookie.
    """
    payload, _, text = request.cookies.get(_cookie_name(request), "").partition(".")
    token = sign_ins.find(text, TokenKind.OIDC)
    if token is None or token.subject != _digest(payload):
        raise SignInProblem(Problem.EXPIRED)
    try:
        begun = msgspec.json.decode(base64.urlsafe_b64decode(f"{payload}=="), type=BegunSignIn)
    except (binascii.Error, msgspec.DecodeError):  # signed by another version of this service
        raise SignInProblem(Problem.EXPIRED) from None
    state = request.query_params.get("state", "")
    if not secrets.compare_digest(state.encode(), begun.state.encode()):
        raise SignInProblem(Problem.EXPIRED)
    return begun, token


def _returned_problem(error: str) -> Problem:
    if error != CANCELLED:
        reason = error if re.fullmatch(r"[a-z_]{1,60}", error) else "another error"
        log.warning("identity provider refused the sign-in", extra={"reason": reason})
    return Problem.UNAVAILABLE if error in AWAY else Problem.REFUSED


def _groups(claims: Mapping[str, Any], path: str) -> Sequence[str]:
    """The texts of a claim: by its whole name, which may contain dots, or by a path to it."""
    value: Any = claims.get(path)
    if value is None:
        value = claims
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
    values = [value] if isinstance(value, str) else value
    return [text for text in values if isinstance(text, str)] if isinstance(values, list) else []


def _set_cookie(response: Response, request: Request, value: str, seconds: int) -> None:
    response.set_cookie(
        _cookie_name(request),
        value,
        max_age=seconds,
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="lax",
    )


def _cookie_name(request: Request) -> str:
    return f"__Host-{COOKIE}" if is_https(request) else COOKIE


def _digest(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()
