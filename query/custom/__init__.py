"""Custom queries: validated against declared columns, compiled to SQL with bound values."""
