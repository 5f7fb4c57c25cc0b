"""The client with all of its methods."""

from query.client.items import ItemClient
from query.client.management import ManagementClient
from query.client.queries import QueryClient


class Client(QueryClient, ItemClient, ManagementClient):
    """Queries, sends and manages with one API key."""
