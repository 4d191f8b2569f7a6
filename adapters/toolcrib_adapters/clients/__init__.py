"""The configuration files of MCP clients: what each looks like, and changing one entry of it."""
