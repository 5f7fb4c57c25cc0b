"""The MCP server: queries as tools for language models, read-only."""
