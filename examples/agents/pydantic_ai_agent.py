"""A pydantic-ai agent whose only toolset is a running crib.

The crib is an MCP server, so pydantic-ai needs nothing of ours to use it:

    toolcrib serve &
    export TOOLCRIB_URL=http://127.0.0.1:8765/mcp
    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 \\
        python examples/agents/pydantic_ai_agent.py "Do we have 20 bearings BB-608 in stock?"
"""

from __future__ import annotations

import os
import sys

import anyio
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def make_agent(crib_url: str, base_url: str, model: str, api_key: str) -> Agent:
    """An agent that finds its tools in the crib."""
    # With "failed" the model sees what the crib says about a failure and may mend its call.
    crib: MCPToolset[object] = MCPToolset(
        crib_url, id="crib", tool_error_behavior="failed", include_instructions=True
    )
    provider = OpenAIProvider(base_url=base_url, api_key=api_key)
    return Agent(OpenAIChatModel(model, provider=provider), toolsets=[crib])


async def main() -> None:
    agent = make_agent(
        os.environ.get("TOOLCRIB_URL", "http://127.0.0.1:8765/mcp"),
        os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
        os.environ.get("OPENAI_API_KEY", "none"),
    )
    async with agent:
        result = await agent.run(" ".join(sys.argv[1:]))
    print(result.output)


if __name__ == "__main__":
    anyio.run(main)
