"""Custom queries: checked against our columns, compiled from our words, run on bound values."""
