"""Sign-ins of browsers: `/v1/sign-in`, the session cookie and what protects it."""
