"""Short links: redirects, click events, link previews and QR codes."""
