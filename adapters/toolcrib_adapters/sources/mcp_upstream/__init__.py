"""MCP servers as sources."""

from toolcrib_adapters.sources.mcp_upstream.upstream import McpUpstream

__all__ = ["McpUpstream"]
