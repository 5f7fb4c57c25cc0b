"""HTTP layer of both services: protocol, middleware, auth, rate limits, CORS, health, OpenAPI."""
