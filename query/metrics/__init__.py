"""Metrics queries: free metrics by free dimensions, one small grammar."""
