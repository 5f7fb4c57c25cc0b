"""Static pages: API page with the list of query types, Python client."""

from query.docs.client_file import client_file
from query.docs.type_list import type_list
from schemas.http.docs.pages import API_PAGE_PATH, api_pages, static_endpoint

PAGES = {
    **api_pages("Tidemark Query API", type_list),
    f"{API_PAGE_PATH}/tidemark_client.py": static_endpoint(
        lambda: client_file().encode(), "text/x-python"
    ),
}
"""Endpoints by path."""
