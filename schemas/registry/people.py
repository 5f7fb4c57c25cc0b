"""People: their roles, and the rights that these give, as an API key that exists in no registry.

A role is a set of scopes. A person has one in the whole organization, roles on some websites which
add to it, or both. `PersonKey.narrowed` leaves the websites on which the roles have a scope, so
that whoever authorizes a request for a scope cannot reach further with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from schemas.registry.api_keys import KEY_SCOPES, KeyScope
from schemas.registry.records import Account, Key, Member
from schemas.registry.sign_ins import Way
from schemas.runtime.roles import ROLES, Role

if TYPE_CHECKING:
    from schemas.registry.snapshot import Snapshot

PERSON_ACTOR = "person:"
"""Begins the actor of changes by people in the audit trail, before the e-mail address."""
SEVERAL = ""
"""The website of rights that are restricted to several ones: it is the id of none."""


WEBSITE_ROLES = ROLES[1:]
ROLE_SCOPES: Mapping[str, tuple[str, ...]] = {
    Role.OWNER: (KeyScope.ADMIN,),
    Role.ADMIN: (KeyScope.ADMIN,),
    Role.ANALYST: (
        KeyScope.READ_DATA,
        KeyScope.READ_LINKS,
        KeyScope.WRITE_LINKS,
        KeyScope.WRITE_RECORDS,
    ),
    Role.VIEWER: (KeyScope.READ_DATA, KeyScope.READ_LINKS),
}


class PersonKey(Key, frozen=True, kw_only=True):
    """The rights of a person in an organization; its scopes are those in the whole of it."""

    member: Member
    account: Account
    website_scopes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """What may be done on some websites besides."""
    allowed_websites: frozenset[str] | None = None
    """What the rights are narrowed to; None: the whole organization."""
    limit: tuple[str, ...] = KEY_SCOPES
    """Scopes of the personal API key that was sent; a session has all."""
    way: Way | None = None
    """How the person signed in; None: with a personal API key."""
    needs_second_factor: bool = False

    def has_scope(self, scope: str) -> bool:
        """Whether it has the scope on one website at least."""
        held = (self.scopes, *self.website_scopes.values())
        return any(self._holds(scopes, (scope,)) for scopes in held)

    def scopes_on(self, website_id: str) -> Sequence[str]:
        """What may be done on a website."""
        scopes = (*self.scopes, *self.website_scopes.get(website_id, ()))
        return [scope for scope in KEY_SCOPES if self._holds(scopes, (scope,))]

    def reaches(self, website_id: str | None) -> bool:
        return self.allowed_websites is None or website_id in self.allowed_websites

    def narrowed(self, scopes: Sequence[str]) -> "PersonKey | None":
        if self.allowed_websites is None and self._holds(self.scopes, scopes):
            return self
        websites = frozenset(
            website_id
            for website_id, held in self.website_scopes.items()
            if self.reaches(website_id) and self._holds((*self.scopes, *held), scopes)
        )
        if not websites:
            return None
        website_id = next(iter(websites)) if len(websites) == 1 else SEVERAL
        return structs.replace(self, allowed_websites=websites, website_id=website_id)

    def _holds(self, held: Sequence[str], scopes: Sequence[str]) -> bool:
        """Whether one of the scopes is held, by the role and by the limit of the key."""
        return any(_has(held, scope) and _has(self.limit, scope) for scope in scopes)


def _has(scopes: Sequence[str], scope: str) -> bool:
    return scope in scopes or KeyScope.ADMIN in scopes


def person_key(
    registry: "Snapshot", member_id: str | None, way: Way | None = None
) -> PersonKey | None:
    """The rights of a member; None when there is none, or the invitation is not accepted.

    Only who signed in with a password needs a second factor: others are verified elsewhere.
    """
    member = registry.members.get(member_id or "")
    account = registry.accounts.get((member and member.account_id) or "")
    if member is None or account is None:
        return None
    organization = registry.organizations[member.organization_id]
    required = organization.require_second_factor and way is Way.PASSWORD
    needs_second_factor = required and not account.second_factor
    roles = {} if needs_second_factor else dict(_website_roles(registry, member))
    is_whole = member.role is not None
    return PersonKey(
        id=member.id,
        organization_id=member.organization_id,
        website_id=None if is_whole else SEVERAL,
        name=account.name or account.email,
        scopes=() if needs_second_factor else ROLE_SCOPES.get(member.role or "", ()),
        secret_hash="",
        created_at=member.created_at,
        updated_at=member.updated_at,
        member=member,
        account=account,
        website_scopes={website_id: ROLE_SCOPES[role] for website_id, role in roles.items()},
        allowed_websites=None if is_whole else frozenset(roles),
        way=way,
        needs_second_factor=needs_second_factor,
    )


def _website_roles(registry: "Snapshot", member: Member) -> Iterator[tuple[str, str]]:
    """Of the websites that the organization has; others may have been deleted."""
    for website_id, role in member.website_roles.items():
        website = registry.websites.get(website_id)
        if website is not None and website.organization_id == member.organization_id:
            yield website_id, role


def key_of_person(registry: "Snapshot", key: Key) -> Key | None:
    """An API key within the roles of the person that it belongs to; None when that one is gone."""
    if key.person_id is None:
        return key
    rights = person_key(registry, key.person_id)
    if rights is None:
        return None
    return structs.replace(
        rights, id=key.id, name=key.name, limit=key.scopes, expires_at=key.expires_at
    )


def actor_of(key: Key) -> str:
    """How the audit trail names who sent a request."""
    if isinstance(key, PersonKey):
        return f"{PERSON_ACTOR}{key.account.email}"
    return f"key:{key.id}"
