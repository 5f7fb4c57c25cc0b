"""An identity provider that lies: a test chooses what it says of itself and of who signed in."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.query.sign_in.identity_provider import CLIENT_ID, CLIENT_SECRET

KEY = RSAKey.generate_key(2048, {"kid": "first"})
NEW_KEY = RSAKey.generate_key(2048, {"kid": "second"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "first"})
"""Of somebody else, under the same name."""
SHARED_SECRET = OctKey.import_key(CLIENT_SECRET)


class ForgingProvider:
    """Its state is what the next request is answered with."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.nonce = ""
        """Of the sign-in that was begun."""
        self.claims: dict[str, Any] = {}
        """Claims of the ID token that differ from good ones; None leaves one out."""
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "first"}
        self.signing_key: RSAKey | OctKey = KEY
        self.published_key = KEY
        self.is_signed = True
        self.metadata: dict[str, Any] = {}
        """Metadata that differs from the good one."""
        self.answers: dict[str, tuple[int, bytes]] = {}
        """Other answers by path."""
        self.silent_path = ""
        """Requests to it get no response while the test runs."""
        self.user_info: dict[str, Any] = {}
        self.forms: list[Mapping[str, Any]] = []
        """Forms that were sent to the token endpoint."""

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and body of a path."""
        if path in self.answers:
            return self.answers[path]
        documents: Mapping[str, Callable[[], Mapping[str, Any]]] = {
            "/.well-known/openid-configuration": self._metadata,
            "/jwks": lambda: {"keys": [self.published_key.as_dict(private=False)]},
            "/token": self._token,
            "/me": lambda: self.user_info,
        }
        return 200, json.dumps(documents[path]()).encode()

    def _metadata(self) -> Mapping[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/me",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            **self.metadata,
        }

    def _token(self) -> Mapping[str, Any]:
        now = int(time.time())
        good = {
            "iss": self.issuer,
            "sub": "ada",
            "aud": CLIENT_ID,
            "exp": now + 600,
            "iat": now,
            "nonce": self.nonce,
            "email": "ada@shop.example",
            "email_verified": True,
            "groups": [],
        }
        claims = {k: v for k, v in {**good, **self.claims}.items() if v is not None}
        text = jwt.encode(self.header, claims, self.signing_key, algorithms=["RS256", "HS256"])
        if not self.is_signed:
            text = f"{to_base64({'alg': 'none'})}.{text.split('.')[1]}."
        return {"access_token": "access", "token_type": "Bearer", "id_token": text}


def to_base64(value: object) -> str:
    """A part of a token."""
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@contextmanager
def forging_provider() -> Iterator[ForgingProvider]:
    """A provider that listens."""
    finished = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            provider.forms.append({**form, "authorization": self.headers["authorization"]})
            self._respond()

        def log_message(self, *_arguments: object) -> None:
            """Nobody reads it."""

        def _respond(self) -> None:
            if self.path == provider.silent_path:
                finished.wait(30)
                return
            status, body = provider.answer(self.path)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = ForgingProvider(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield provider
        finally:
            finished.set()
            server.shutdown()
            thread.join()
