"""Telemetry: metrics in the format of Prometheus, and probes of every process."""
