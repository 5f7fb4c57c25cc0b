"""The container image, and the health check that runs inside of it."""
