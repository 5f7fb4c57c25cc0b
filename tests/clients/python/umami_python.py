"""Sends with Umami's Python client: its address and the website's id are the arguments."""

import sys

import umami

host, website_id = sys.argv[1:]
umami.set_url_base(host)
umami.set_website_id(website_id)
umami.set_hostname("shop.example")
umami.new_page_view("Cart", url="/cart", ip_address="203.0.113.7", distinct_id="u1")
umami.new_event("Signed Up", url="/signup", custom_data={"plan": "pro"}, distinct_id="u1")
umami.new_revenue_event(49.9, currency="EUR", url="/cart", distinct_id="u1")
