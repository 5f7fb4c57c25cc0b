"""The e-mail address that a proxy sends which signs people in, such as oauth2-proxy or Authelia."""

from starlette.types import Scope

from query.sign_in.identity import email_address
from schemas.http.asgi import header
from schemas.runtime.networks import in_networks
from schemas.runtime.sign_in_access import ProxyHeader


def email_from_proxy(scope: Scope, proxy: ProxyHeader | None) -> str | None:
    """The address in the header, if a connection of the proxy itself carries it.

    The network peer counts: what X-Forwarded-For says of it has no effect. A header that comes
    twice is refused, as one of them may be that of the browser: it is read as a list.
    """
    peer = scope.get("client")
    if proxy is None or not peer or not in_networks(str(peer[0]), proxy.networks):
        return None
    return email_address(header(scope, proxy.name) or "")
