"""What both HTTP services wear, as pure ASGI: identity, allowances, failures, CORS, health."""
