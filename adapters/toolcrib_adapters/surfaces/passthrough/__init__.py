"""What MCP servers offer besides tools, passed through: resources, prompts, completions, logs."""
