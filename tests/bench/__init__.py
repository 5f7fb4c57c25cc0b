"""Measurements: each against a baseline in the same run, kept in RESULTS.md."""
