"""The client with all of its methods."""

from query.client.items import ItemClient
from query.client.queries import QueryClient
from query.client.records import RecordClient


class Client(QueryClient, ItemClient, RecordClient):
    """Queries, sends and manages with one API key."""
