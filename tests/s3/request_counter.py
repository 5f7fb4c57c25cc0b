"""A proxy in front of an S3 server that lists the requests which pass it."""

import re

from tests.tcp_proxy import TcpProxy

REQUEST_LINE = re.compile(rb"(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class RequestCounter(TcpProxy):
    """`requests` has method and path of each request.

    Requests are recognized by their first line, so bodies must not contain one.
    """

    def __init__(self, target_port: int) -> None:
        super().__init__(target_port)
        self.requests: list[tuple[str, str]] = []

    @property
    def endpoint(self) -> str:
        """For `AWS_ENDPOINT_URL`."""
        return f"http://127.0.0.1:{self.port}"

    def sees(self, data: bytes) -> None:
        found = REQUEST_LINE.finditer(data)
        self.requests += [(each[1].decode(), each[2].decode()) for each in found]
