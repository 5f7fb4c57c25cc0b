"""What the operator's settings say about people: how they sign in, who joins without invitation."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from schemas.mail.mailer import Mailer, open_mailer
from schemas.registry.people import Role
from schemas.registry.sign_ins import Way
from schemas.runtime.service_urls import public_query_url
from schemas.runtime.settings import Settings


class Identity(Struct, frozen=True):
    """A person whom an identity provider, or the proxy before the service, vouches for."""

    email: str
    name: str
    groups: Sequence[str]
    way: Way


class SignUp(Struct, frozen=True):
    """Who joins an organization without an invitation, by single sign-on."""

    organization_id: str = ""
    """Empty: nobody."""
    domains: frozenset[str] = frozenset()
    """E-mail domains whose people join as viewers."""
    group_roles: Mapping[str, str] = {}
    """Roles by the names of groups."""

    def role_of(self, identity: Identity) -> str | None:
        """The highest role of the person's groups."""
        held = {self.group_roles[group] for group in identity.groups if group in self.group_roles}
        return next((role.value for role in Role if role in held), None)


class PeopleAccess(Struct, frozen=True):
    """How people sign in."""

    query_url: str = ""
    """URL of the dashboard, for links."""
    mailer: Mailer | None = None
    """None: links are shown to whoever makes them, who passes them on."""
    password_sign_in: bool = True
    oidc_name: str = ""
    """What the button says; empty: no provider."""
    proxy_header: str = ""
    """Header with the e-mail address of whom the proxy has signed in; empty: none."""
    sign_up: SignUp = SignUp()


def people_access(settings: Settings) -> PeopleAccess:
    """How people sign in by the settings."""
    return PeopleAccess(query_url=public_query_url(settings), mailer=open_mailer(settings))
