"""Sign-in of people: by e-mail and password with a second factor, or as somebody else vouches for.

What a stranger can learn is the same for accounts that exist and for others: one message, one
cost, one limit.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.sign_in.hashing import matches, new_hash
from query.sign_in.person_links import MAILED, PersonLinks, SentLink, password_mark
from query.sign_in.session_cookie import set_session_cookie
from schemas.errors import Forbidden, SecondFactorRequired, Unauthorized
from schemas.http.admission import AttemptLimit
from schemas.http.asgi import header
from schemas.http.middleware import HttpMiddleware
from schemas.plans import Limit
from schemas.registry import Account, Key, Member, RecordNotFound, Snapshot
from schemas.registry.ids import random_id
from schemas.registry.passwords import (
    DECOY_HASH,
    needs_rehash,
)
from schemas.registry.people import PERSON_ACTOR, person_key
from schemas.registry.sealing import InvalidSealedText, unseal
from schemas.registry.second_factor import matching_step, use_recovery_code
from schemas.registry.sign_ins import Way
from schemas.registry.signed_tokens import TokenKind
from schemas.registry.store import RegistryStore
from schemas.registry.unseen_text import refuse_null

TOTP_PURPOSE = "second factor"
BY_NETWORK = AttemptLimit("password-network", Limit(30), "password sign-ins from one network")
BY_ACCOUNT = AttemptLimit("password-account", Limit(60), "password sign-ins to this account")
BY_BOTH = AttemptLimit(
    "password-both", Limit(10), "password sign-ins to this account from one network"
)
"""One network alone does not keep a person from signing in elsewhere."""
RESETS_BY_NETWORK = AttemptLimit("reset-network", Limit(10), "password links from one network")
RESETS_BY_ACCOUNT = AttemptLimit("reset-account", Limit(2), "password links of this account")
CHECKS = AttemptLimit("password-check", Limit(10), "passwords that you confirm with")
CODE_ATTEMPTS = AttemptLimit("second-factor", Limit(5), "codes of this account")
LINK_ENDED = "The link is not valid, was used or has ended; ask for a new one"
WRONG = "E-mail address or password are wrong"
CODE_NEEDED = "The password is right; send the code of your authenticator app, or a recovery code"
CODE_WRONG = "The code is wrong, was used or has ended; send the next one, or a recovery code"
NO_ACCESS = "The account belongs to no organization any more; ask for an invitation"


def normal_email(text: str) -> str:
    """An e-mail address as accounts have it; Malformed.

    Other letters than ASCII stay: some, such as the Kelvin sign, become ASCII ones in lower case,
    and the address that of somebody else.
    """
    refuse_null("email", text)
    address = text.strip()
    return address.lower() if address.isascii() else address


async def find_account(dependencies: QueryDependencies, email: str) -> Account | None:
    """The account of an e-mail address, read from the registry itself."""
    store = dependencies.store
    accounts = await dependencies.in_registry(lambda: store.list(Account, email=email))
    return accounts[0] if accounts else None


async def change_account(
    dependencies: QueryDependencies, account: Account, **changes: Any
) -> Account:
    """Change an account, as the person itself."""
    store = store_of_person(dependencies, account)
    now = dependencies.clock()
    changed = await dependencies.in_registry(
        lambda: store.update(Account, account.id, now, **changes)
    )
    await dependencies.refresh_registry()
    return changed


def store_of_person(dependencies: QueryDependencies, account: Account) -> RegistryStore:
    """The registry store whose audit trail names the person."""
    return dependencies.store.with_actor(f"{PERSON_ACTOR}{account.email}")


def new_account(email: str, name: str, now_ms: int, **fields: Any) -> Account:
    """A new account."""
    return Account(
        id=random_id(12), email=email, name=name, created_at=now_ms, updated_at=now_ms, **fields
    )


async def verify_password(
    dependencies: QueryDependencies,
    request: Request,
    email: str,
    password: str,
    code: str | None,
) -> Account:
    """The account; Unauthorized, SecondFactorRequired, or RateLimitExceeded.

    Attempts count before they are verified.
    """
    await count_password_attempt(request, email)
    account = await find_account(dependencies, email)
    hashed = account.password_hash if account else None
    is_right = await matches(password, hashed or DECOY_HASH)
    if account is None or hashed is None or not is_right:
        raise Unauthorized(WRONG)
    if account.second_factor:
        await verify_code(dependencies, request, account, code)
    if needs_rehash(hashed):
        renewed = await new_hash(password)
        account = await change_account(dependencies, account, password_hash=renewed)
    return account


async def count_password_attempt(request: Request, email: str) -> None:
    """RateLimitExceeded after too many of a network, or for an address, which need not exist."""
    network, address = _network(request), _hash(email)
    await count_attempt(request, BY_NETWORK, network)
    await count_attempt(request, BY_BOTH, _hash(f"{network} {email}"))
    await count_attempt(request, BY_ACCOUNT, address)


async def count_reset(request: Request, email: str) -> None:
    """The same of links for a new password."""
    await count_attempt(request, RESETS_BY_NETWORK, _network(request))
    await count_attempt(request, RESETS_BY_ACCOUNT, _hash(email))


def _network(request: Request) -> str:
    middleware: HttpMiddleware = request.scope["app"]
    return middleware.client_network(request.scope)


async def verify_code(
    dependencies: QueryDependencies, request: Request, account: Account, code: str | None
) -> None:
    """Use a one-time code or a recovery code; SecondFactorRequired unless it is right."""
    if code is None:
        raise SecondFactorRequired(CODE_NEEDED)
    await count_attempt(request, CODE_ATTEMPTS, account.id)
    now = dependencies.clock()
    step = matching_step(totp_secret(dependencies, account), code, now)
    spent = False

    def spend(current: Account) -> Account:
        nonlocal spent
        if step is not None and step > current.totp_step:
            spent = True
            return replace(current, totp_step=step)
        remaining = use_recovery_code(current.recovery_hashes, code)
        if step is None and remaining is not None:
            spent = True
            return replace(current, recovery_hashes=tuple(remaining))
        return current

    store = store_of_person(dependencies, account)
    await dependencies.in_registry(lambda: store.revise(account, now, spend))
    if not spent:
        raise SecondFactorRequired(CODE_WRONG)


def totp_secret(dependencies: QueryDependencies, account: Account) -> str:
    """The secret of the second factor; one that cannot be read, after a restore, fits no code."""
    try:
        return unseal(account.totp_secret or "", dependencies.sign_ins.secret, TOTP_PURPOSE)
    except InvalidSealedText:
        return ""


def memberships(registry: Snapshot, account_id: str) -> Sequence[Member]:
    """The memberships of an account, oldest first."""
    members = [member for member in registry.members.values() if member.account_id == account_id]
    return sorted(members, key=lambda member: (member.created_at, member.id))


def membership(
    dependencies: QueryDependencies, account: Account, organization_id: str | None = None
) -> Member:
    """The membership in an organization, by default the oldest one; Forbidden."""
    found = memberships(dependencies.registry, account.id)
    for member in found:
        if organization_id in (None, member.organization_id):
            return member
    raise Forbidden(NO_ACCESS)


async def begin_session(
    dependencies: QueryDependencies,
    request: Request,
    respond: Callable[[Key, int], Response],
    member: Member,
    way: Way,
    verified: Account | None = None,
) -> Response:
    """Sign the browser in: a new session with its cookie on the response.

    Sessions that the browser had are ended: it has one cookie. Unauthorized when the password that
    was `verified` has been changed meanwhile.
    """
    await dependencies.refresh_registry()
    rights = person_key(dependencies.registry, member.id, way)
    if rights is None:
        raise Forbidden(NO_ACCESS)
    sign_ins, account_id = dependencies.sign_ins, rights.account.id
    middleware: HttpMiddleware = request.scope["app"]
    browser = browser_name(header(request.scope, b"user-agent") or "")
    for earlier in sign_ins.sessions(request):
        await dependencies.in_registry(partial(sign_ins.end, earlier))
    token = await dependencies.in_registry(
        lambda: sign_ins.begin_session(
            rights.member, way, browser, middleware.client_network(request.scope)
        )
    )
    store, now = store_of_person(dependencies, rights.account), dependencies.clock()
    account = await dependencies.in_registry(lambda: store.get(Account, account_id))
    if verified is not None and password_mark(account) != password_mark(verified):
        await dependencies.in_registry(lambda: sign_ins.end(token))
        raise Unauthorized(WRONG)
    await dependencies.in_registry(
        lambda: store.update(Member, member.id, now, last_sign_in_at=now)
    )
    await dependencies.refresh_registry()
    response = respond(rights, token.ends_at)
    seconds = (token.ends_at - now) // 1000
    set_session_cookie(response, request, sign_ins.sign(token), seconds)
    return response


def browser_name(user_agent: str) -> str:
    """`Firefox on Linux`, for people to recognize a session."""
    from ua_parser import parse  # slow to load

    parsed = parse(user_agent)
    families = (parsed.user_agent and parsed.user_agent.family, parsed.os and parsed.os.family)
    return " on ".join(family for family in families if family)[:255] or "unknown browser"


async def send_invitation(dependencies: QueryDependencies, member: Member) -> SentLink:
    """Mail the invitation of a member, or show it."""
    organization = dependencies.registry.organizations[member.organization_id]
    return await _links(dependencies).invite(member, organization.name, dependencies.clock())


async def send_reset(dependencies: QueryDependencies, account: Account) -> SentLink:
    """Mail a link that sets a new password, or show it."""
    return await _links(dependencies).reset_password(account, dependencies.clock())


def _links(dependencies: QueryDependencies) -> PersonLinks:
    access = dependencies.access
    return PersonLinks(access.query_url, dependencies.sign_ins.sign, access.mailer)


async def account_of_reset(dependencies: QueryDependencies, text: str) -> tuple[Account, bool]:
    """The account whose password a token may set, and whether it was mailed; Unauthorized."""
    token = dependencies.sign_ins.find(text, TokenKind.PASSWORD_RESET)
    if token is None:
        raise Unauthorized(LINK_ENDED)
    account_id, _, mailed = token.subject.partition("-")
    try:
        account = await dependencies.in_registry(
            lambda: dependencies.store.get(Account, account_id)
        )
    except RecordNotFound:
        raise Unauthorized(LINK_ENDED) from None
    if token.id != password_mark(account):
        raise Unauthorized(LINK_ENDED)
    return account, mailed == MAILED


async def count_attempt(request: Request, limit: AttemptLimit, subject: str) -> None:
    middleware: HttpMiddleware = request.scope["app"]
    await middleware.admission.reserve_attempt(limit, subject)
    middleware.admission.count_attempt(request.scope, limit, subject)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
