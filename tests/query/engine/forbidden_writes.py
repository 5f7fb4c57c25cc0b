"""Statements that write into the lake."""

WRITES = (
    "COPY (SELECT 1) TO '{lake}/made.csv'",
    "COPY (SELECT 1) TO '{lake}/made.parquet' (FORMAT parquet)",
    "COPY (SELECT 1 AS a, 2 AS b) TO '{lake}' (FORMAT parquet, PARTITION_BY (a), OVERWRITE true)",
    "ATTACH '{lake}/made.db'",
    "ATTACH '{lake}/made.db' AS made (READ_WRITE)",
    "EXPORT DATABASE '{lake}/made'",
    "COPY (SELECT 1) TO '{lake}/kept.parquet' (FORMAT parquet)",
)
"""What would write into the lake, which DuckDB's own settings let pass."""
