"""A rolling upgrade from an older version, under load: `make upgrade`."""
