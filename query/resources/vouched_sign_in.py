"""Sign-in of people whom an identity provider, or the proxy before the service, vouches for."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.resources.person_sign_in import (
    begin_session,
    change_account,
    find_account,
    memberships,
    new_account,
    store_of_person,
)
from query.sign_in.identity import Identity, Problem
from schemas.registry import Account, Member, RecordConflict, RegistryStore
from schemas.registry.ids import random_id
from schemas.registry.sign_ins import Way
from schemas.runtime.roles import Role


async def sign_in_by_email(
    dependencies: QueryDependencies, request: Request, response: Response, identity: Identity
) -> Problem | None:
    """Sign in the person: the response sets the session cookie. The problem, if there is one."""
    member = await member_of_identity(dependencies, identity)
    if member is None:
        return Problem.NO_ACCESS
    way = Way(identity.way)
    await begin_session(dependencies, request, lambda _key, _end: response, member, way)
    return None


async def member_of_identity(dependencies: QueryDependencies, identity: Identity) -> Member | None:
    """The membership of the person; None for somebody who has none and may not join.

    Invitations to the address are accepted, and groups give their role, at each sign-in. Who is
    no member joins the organization of the settings if they say so.
    """
    store, email = dependencies.store, identity.email
    account = await find_account(dependencies, email)
    members = await dependencies.in_registry(lambda: store.list(Member, email=email))
    role = dependencies.sign_up_rules.sign_up_role(email, identity.groups)
    if not members and role is None:
        return None
    account = await _proved_account(dependencies, account, identity)
    await _join(dependencies, account, identity, members)
    await dependencies.refresh_registry()
    joined = memberships(dependencies.registry, account.id)
    return joined[0] if joined else None


async def _proved_account(
    dependencies: QueryDependencies, account: Account | None, identity: Identity
) -> Account:
    """The account of the identity.

    One whose address nobody had proved may have been made by somebody else: its password and
    sessions end, so that whoever made it has no access to what this person gets.
    """
    if account is None:
        name = "".join(filter(str.isprintable, identity.name)).strip()[:255]
        made = new_account(identity.email, name, dependencies.clock(), email_proved=True)
        store = store_of_person(dependencies, made)
        try:
            return await dependencies.in_registry(lambda: store.create(made))
        except RecordConflict:  # another tab of the same person was first
            account = await find_account(dependencies, identity.email)
            if account is None:
                raise
    if account.email_proved:
        return account
    account_id, sign_ins = account.id, dependencies.sign_ins
    nothing: dict[str, Any] = {"password_hash": None, "totp_secret": None, "recovery_hashes": ()}
    account = await change_account(
        dependencies, account, email_proved=True, second_factor=False, **nothing
    )
    await dependencies.in_registry(lambda: sign_ins.end_sessions(account_id))
    return account


async def _join(
    dependencies: QueryDependencies,
    account: Account,
    identity: Identity,
    members: Sequence[Member],
) -> None:
    """Accept invitations; in the organization of the settings the person has the role of groups."""
    rules, now = dependencies.sign_up_rules, dependencies.clock()
    owner, role_of_groups = rules.organization_id, rules.role_of_groups(identity.groups)
    role = rules.sign_up_role(identity.email, identity.groups)
    is_member = any(member.organization_id == owner for member in members)
    joins = role is not None and owner in dependencies.registry.organizations and not is_member

    def write(store: RegistryStore) -> None:
        for member in members:
            fields: dict[str, Any] = {"account_id": account.id, "invitation": None}
            if role_of_groups and member.organization_id == owner and member.role != Role.OWNER:
                fields["role"] = role_of_groups  # an owner stays: somebody has to
            store.update(Member, member.id, now, **fields)
        if joins:
            store.create(
                Member(
                    id=random_id(12),
                    organization_id=owner,
                    account_id=account.id,
                    email=account.email,
                    role=role,
                    created_at=now,
                    updated_at=now,
                )
            )

    person = store_of_person(dependencies, account)
    try:
        await dependencies.in_registry(lambda: write(person))
    except RecordConflict:
        return  # another tab of the same person was first, or the organization is full
