"""An agent without a framework: a loop around any OpenAI-compatible chat endpoint.

The model gets the crib's few meta-tools and finds everything else by itself:

    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3 \\
        python examples/agents/bare_loop.py "Do we have 20 bearings BB-608 in stock?"

TOOLCRIB_URL names a running crib; without it `toolcrib serve --stdio` is started.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import anyio
import httpx2

from toolcrib_client import Crib

MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Model:
    """A chat endpoint and the model to ask there."""

    base_url: str
    name: str
    api_key: str


async def answer(question: str, crib: Crib, model: Model) -> str:
    """The model's answer, after as many tool calls as it wants."""
    tools = await crib.meta_tools("openai")
    messages: list[object] = [{"role": "user", "content": question}]
    headers = {"Authorization": f"Bearer {model.api_key}"}
    async with httpx2.AsyncClient(base_url=model.base_url, headers=headers, timeout=120) as http:
        for _ in range(MOST_ROUNDS):
            body = {"model": model.name, "messages": messages, "tools": tools}
            response = await http.post("chat/completions", json=body)
            message = response.raise_for_status().json()["choices"][0]["message"]
            messages.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return str(message["content"])
            messages += [await crib.dispatch(call) for call in calls]
    raise RuntimeError(f"no answer after {MOST_ROUNDS} rounds")


async def main() -> None:
    model = Model(
        os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/",
        os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
        os.environ.get("OPENAI_API_KEY", "none"),
    )
    where = os.environ.get("TOOLCRIB_URL") or ["toolcrib", "serve", "--stdio"]
    async with Crib(where) as crib:
        print(await answer(" ".join(sys.argv[1:]), crib, model))


if __name__ == "__main__":
    anyio.run(main)
