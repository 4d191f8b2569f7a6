"""Where callers meet the crib: the MCP server with its transports, and the command line."""
