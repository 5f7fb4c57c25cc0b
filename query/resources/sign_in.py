"""`/v1/sign-in` and `/v1/me`: sign in as a person or with an API key, sign out, who one is."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.filters import Filter
from query.request.query_string import strict_query_string
from query.resources.person_sign_in import (
    begin_session,
    membership,
    normal_email,
    verify_password,
)
from query.resources.quiet_refusals import quiet_refusals
from query.resources.vouched_sign_in import member_of_identity
from query.response.json_response import json_response
from query.sign_in.identity import Identity
from query.sign_in.proxy_header import email_from_proxy
from query.sign_in.same_origin import require_same_origin
from query.sign_in.session_cookie import clear_session_cookie, set_session_cookie
from query.sign_in.share_access import ShareKey
from schemas.errors import (
    Forbidden,
    Malformed,
    RateLimitExceeded,
    SecondFactorRequired,
    Unauthorized,
)
from schemas.http import openapi
from schemas.http.admission import AttemptLimit
from schemas.http.auth import find_key
from schemas.http.middleware import HttpMiddleware
from schemas.http.unknown_records import is_unknown
from schemas.plans import Group, Limit
from schemas.registry import (
    KEY_SCOPES,
    Key,
    KeyScope,
    Organization,
    Share,
    Snapshot,
    Website,
    parse_key,
)
from schemas.registry.people import PersonKey
from schemas.registry.sign_ins import Way
from schemas.registry.signed_tokens import TokenKind
from schemas.runtime.clock import format_instant
from schemas.runtime.roles import Role

FAILED_SIGN_INS = AttemptLimit("sign-in", Limit(10), "failed sign-ins from one network")
WEBSITE_SCOPES = (KeyScope.READ_DATA, KeyScope.READ_LINKS, KeyScope.MANAGE_WEBSITES)
"""A key with one of these sees its websites."""
NO_PROXY = "No proxy that is trusted here says who you are"
NO_MEMBER = "has no access here; ask somebody who manages people for an invitation"
NO_PASSWORDS = "Sign-in with a password is switched off here; use single sign-on"
LINK_USED = (
    "The sign-in link is not valid, was used or has ended; `tidemark sign-in-link` prints a new one"
)


class SignInBody(Struct, forbid_unknown_fields=True):
    """One of: e-mail and password, an API key, the token of a sign-in link, `proxy`."""

    email: Annotated[str, Meta(min_length=3, max_length=254)] | UnsetType = UNSET
    password: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    code: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=40,
                description="code of the authenticator app, or a recovery code",
            ),
        ]
        | UnsetType
    ) = UNSET
    key: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    token: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    proxy: (
        Annotated[bool, Meta(description="true: as the proxy before the service says")] | UnsetType
    ) = UNSET


class OidcWay(Struct):
    """Sign-in by an OpenID Connect provider."""

    name: str
    url: str


class SignInWays(Struct):
    """How people sign in here; an API key signs in always."""

    success: Literal[True]
    password: bool
    oidc: OidcWay | None
    proxy: Annotated[bool, Meta(description="whether a proxy before the service vouches")]
    mail: Annotated[bool, Meta(description="whether links to set a password are mailed")]


class OwnOrganization(Struct, rename="camel"):
    """The organization of the API key, or of the person."""

    id: str
    name: str
    has_owner: Annotated[bool, Meta(description="false: an admin key may make the first owner")]


class OwnWebsite(Struct):
    """A website that the API key has access to."""

    id: str
    name: str
    domain: str
    timezone: str
    scopes: Annotated[list[str], Meta(description="what may be done on it")]


class OwnKey(Struct, rename="camel"):
    """The API key of the request or the sign-in."""

    id: str
    name: str
    website_id: Annotated[
        str | None, Meta(description="website that it is restricted to; null: all")
    ]


class OwnPerson(Struct, rename="camel"):
    """The person who is signed in."""

    id: Annotated[str, Meta(description="of the membership, as in `/v1/people`")]
    email: str
    name: str
    role: Annotated[str | None, Meta(description="in the whole organization; null: on websites")]
    second_factor_needed: Annotated[
        bool, Meta(description="true: nothing but the account is open before one is set up")
    ]


class OwnShare(Struct):
    """The shared dashboard that was opened."""

    name: str
    filters: Annotated[list[Filter], Meta(description="always apply")]


class OwnKeepBounds(Struct):
    """The operator's bounds of days to keep; 0 is no bound."""

    minimum: int
    maximum: Annotated[int, Meta(description="holds also where no days are set")]


class MeResponse(Struct):
    """What an API key, or a sign-in, has access to."""

    success: Literal[True]
    organization: Annotated[OwnOrganization | None, Meta(description="null for a shared dashboard")]
    websites: Annotated[
        list[OwnWebsite], Meta(description="those that it may see; none for keys that only send")
    ]
    key: Annotated[OwnKey | None, Meta(description="null for people and shared dashboards")]
    person: Annotated[OwnPerson | None, Meta(description="null for keys and shared dashboards")]
    scopes: Annotated[
        list[str], Meta(description="what may be done, if only on some websites; `admin`: all")
    ]
    expires: Annotated[
        str | None, Meta(description="when the sign-in, the key or the access ends; ISO 8601")
    ]
    collect_url: Annotated[
        str, Meta(description="URL of the collector, for short links and trackers")
    ] = field(name="collectUrl")
    keep_bounds: OwnKeepBounds = field(name="keepBounds")
    mail: Annotated[bool, Meta(description="whether mail is sent here")]
    share: OwnShare | None = None


async def sign_in(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: set the session cookie."""
    require_same_origin(request)
    body = await read_json(request, SignInBody)
    if isinstance(body.email, str) and isinstance(body.password, str):
        return await _sign_in_with_password(dependencies, request, body)
    if body.proxy is True:
        return await _sign_in_by_proxy(dependencies, request)
    middleware: HttpMiddleware = request.scope["app"]
    network, admission = middleware.client_network(request.scope), middleware.admission
    try:
        key = await _key_of(dependencies, body)
    except Unauthorized:
        # Only here: nobody guesses a key, and others of the network must be able to sign in.
        admission.count_attempt(request.scope, FAILED_SIGN_INS, network)
        raise
    await dependencies.count_request(request, key, Group.RECORDS)
    sign_ins = dependencies.sign_ins
    ends_at = sign_ins.session_end(key)
    response = me_response(dependencies, key, ends_at)
    seconds = (ends_at - dependencies.clock()) // 1000
    text = sign_ins.issue(TokenKind.SESSION, key.id, ends_at)
    set_session_cookie(response, request, text, seconds)
    return response


async def _sign_in_with_password(
    dependencies: QueryDependencies, request: Request, body: SignInBody
) -> Response:
    if not dependencies.access.password_sign_in:
        raise Forbidden(NO_PASSWORDS)
    email, code = normal_email(str(body.email)), body.code
    account = await verify_password(
        dependencies, request, email, str(body.password), code if isinstance(code, str) else None
    )
    member, respond = membership(dependencies, account), partial(me_response, dependencies)
    return await begin_session(dependencies, request, respond, member, Way.PASSWORD, account)


async def _sign_in_by_proxy(dependencies: QueryDependencies, request: Request) -> Response:
    email = email_from_proxy(request.scope, dependencies.proxy_header)
    dependencies.admit_public(request)
    if email is None:
        raise Unauthorized(NO_PROXY)
    member = await member_of_identity(dependencies, Identity(email, "", (), "proxy"))
    if member is None:
        raise Forbidden(f"{email} {NO_MEMBER}")
    respond = partial(me_response, dependencies)
    return await begin_session(dependencies, request, respond, member, Way.PROXY)


async def show_ways(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: how people sign in."""
    dependencies.admit_public(request)
    access, single = dependencies.access, dependencies.oidc
    oidc = OidcWay(single.access.name, "/v1/sign-in/oidc") if single else None
    ways = SignInWays(
        success=True,
        password=access.password_sign_in,
        oidc=oidc,
        proxy=dependencies.proxy_header is not None,
        mail=access.mailer is not None,
    )
    return json_response(ways)


async def sign_out(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE: end the sign-ins of the request in all processes, and clear the cookie."""
    require_same_origin(request)
    dependencies.admit_public(request)
    for session in dependencies.sign_ins.sessions(request):
        await dependencies.in_registry(partial(dependencies.sign_ins.end, session))
    response = Response(status_code=204)
    clear_session_cookie(response, request)
    return response


async def show_me(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: organization, websites and scopes."""
    key = dependencies.identify_or_share(request)
    await dependencies.count_request(request, key, Group.RECORDS)
    ends_at = key.access_ends_at if isinstance(key, ShareKey) else key.expires_at
    if not dependencies.api_key_text(request):
        session = dependencies.sign_ins.session(request)
        ends_at = session.ends_at if session else None
    return me_response(dependencies, key, ends_at)


async def _key_of(dependencies: QueryDependencies, body: SignInBody) -> Key:
    """The active key of the body; Unauthorized."""
    if isinstance(body.key, str) and isinstance(body.token, UnsetType):
        text = body.key.strip()
        parts = parse_key(text)
        await _reread_for(dependencies, parts[0] if parts else "")
        return find_key(dependencies.registry, text, dependencies.clock())
    if isinstance(body.token, UnsetType) or isinstance(body.key, str):
        raise Malformed(
            "Give 'email' with 'password', or 'key', an API key, or 'token', that of a sign-in link"
        )
    sign_ins = dependencies.sign_ins
    token = sign_ins.find(body.token, TokenKind.SIGN_IN_LINK)
    if token is None:
        raise Unauthorized(LINK_USED)
    await _reread_for(dependencies, token.subject)
    key = sign_ins.key_of(token, dependencies.registry)
    if not await dependencies.in_registry(lambda: sign_ins.end(token)):
        raise Unauthorized(LINK_USED)
    return key


async def _reread_for(dependencies: QueryDependencies, key_id: str) -> None:
    """Read the registry if the key may be newer than the snapshot."""
    if is_unknown(key_id, dependencies.registry.keys):
        await dependencies.follower.newer_than(dependencies.registry, [key_id])


def me_response(dependencies: QueryDependencies, key: Key, ends_at: int | None) -> Response:
    """What a key, a person or a share has access to."""
    registry = dependencies.registry
    organization = registry.organizations[key.organization_id]
    sees_websites = any(key.has_scope(scope) for scope in WEBSITE_SCOPES)
    ids = registry.websites_by_organization.get(key.organization_id, ()) if sees_websites else ()
    share = key.share if isinstance(key, ShareKey) else None
    person = key if isinstance(key, PersonKey) else None
    body = MeResponse(
        success=True,
        organization=None if share else _own_organization(registry, organization),
        websites=sorted(
            (
                own_website(registry.websites[id_], key.scopes_on(id_))
                for id_ in ids
                if key.reaches(id_)
            ),
            key=lambda website: (website.name or website.domain).lower(),
        ),
        key=None if share or person else OwnKey(key.id, key.name, key.website_id),
        person=_own_person(person) if person else None,
        scopes=[scope for scope in KEY_SCOPES if key.has_scope(scope)],
        expires=None if ends_at is None else format_instant(ends_at),
        collect_url=dependencies.collect_url,
        mail=dependencies.access.mailer is not None,
        keep_bounds=OwnKeepBounds(
            dependencies.keep_bounds.minimum, dependencies.keep_bounds.maximum
        ),
        share=_own_share(share) if share else None,
    )
    response = json_response(body)
    response.headers["cache-control"] = "no-store"
    return response


def _own_organization(registry: Snapshot, organization: Organization) -> OwnOrganization:
    has_owner = any(
        member.role == Role.OWNER and member.account_id is not None
        for member in registry.members.values()
        if member.organization_id == organization.id
    )
    return OwnOrganization(organization.id, organization.name, has_owner)


def _own_person(key: PersonKey) -> OwnPerson:
    account = key.account
    return OwnPerson(
        key.member.id, account.email, account.name, key.member.role, key.needs_second_factor
    )


def _own_share(share: Share) -> OwnShare:
    return OwnShare(share.name, convert(share.filters, list[Filter]))


def own_website(website: Website, held: Sequence[str]) -> OwnWebsite:
    """A website as responses show it to somebody with these scopes on it."""
    scopes = [scope for scope in KEY_SCOPES if scope in held or KeyScope.ADMIN in held]
    return OwnWebsite(website.id, website.name, website.domain, website.timezone, scopes)


REQUEST_PARAMETER = openapi.Parameter(
    "X-Tidemark-Request",
    "`1`, from a page of this origin: with `Sec-Fetch-Site: same-origin`, or `Origin` like `Host`",
    {"type": "string", "enum": ["1"]},
    required=True,
    location="header",
)

ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            show_ways,
            openapi.Operation(
                method="GET",
                path="/v1/sign-in",
                operation_id="showSignInWays",
                tag="Sign-in",
                summary="Show how people sign in",
                responses=(openapi.Response(200, "the ways", SignInWays),),
                errors=(RateLimitExceeded,),
                security=({},),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            sign_in,
            openapi.Operation(
                method="POST",
                path="/v1/sign-in",
                operation_id="signIn",
                tag="Sign-in",
                summary="Sign in a browser",
                description="Sets the cookie `tidemark_session`, which authorizes like the API "
                "key, or as the roles of the person do, until it ends, the key is revoked, or "
                "`DELETE /v1/sign-in`; over HTTPS it is named `__Host-tidemark_session`. With a "
                "second factor a right password is refused with the code "
                "`SECOND_FACTOR_REQUIRED`: send it again with `code`. Attempts are limited by "
                "network and by account.",
                parameters=(REQUEST_PARAMETER,),
                body=SignInBody,
                responses=(
                    openapi.Response(200, "signed in", MeResponse, headers=("Set-Cookie",)),
                ),
                errors=(*KEY_ERRORS, *BODY_ERRORS, SecondFactorRequired),
                security=({},),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            sign_out,
            openapi.Operation(
                method="DELETE",
                path="/v1/sign-in",
                operation_id="signOut",
                tag="Sign-in",
                summary="Sign out: end the sign-in and clear the cookie",
                parameters=(REQUEST_PARAMETER,),
                responses=(openapi.Response(204, "signed out", headers=("Set-Cookie",)),),
                errors=KEY_ERRORS,
                security=({},),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            show_me,
            openapi.Operation(
                method="GET",
                path="/v1/me",
                operation_id="showMe",
                tag="Sign-in",
                summary="Show organization, websites and scopes of the API key or sign-in",
                responses=(openapi.Response(200, "what it has access to", MeResponse),),
                errors=KEY_ERRORS,
            ),
        )
    ),
)
