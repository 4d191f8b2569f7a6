"""Other people's MCP clients against toolcrib: what each of them can do through it."""
