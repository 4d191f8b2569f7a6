"""An OpenAI-compatible chat endpoint that follows a script instead of thinking.

Each turn is what the "model" answers next: tool calls, or the final words. What it was sent is
kept, so that tests can claim what the model saw.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.client.small_crib import served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

ToolCall = tuple[str, dict[str, Any]]


@dataclass
class ScriptedModel:
    """The script and what was received."""

    turns: list[str | list[ToolCall]]
    received: list[dict[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def endpoint(self) -> AsyncIterator[str]:
        """The base URL, while the block is open."""
        routes = [Route("/v1/chat/completions", self._complete, methods=["POST"])]
        async with served(Starlette(routes=routes)) as address:
            yield f"{address}/v1"

    def tool_messages(self) -> list[str]:
        """What the tools said, as the model saw it in the last request."""
        messages = self.received[-1]["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        turn = self.turns[len(self.received)]
        self.received.append(body)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if isinstance(turn, str):
            message["content"] = turn
        else:
            message["tool_calls"] = [
                {
                    "id": f"call_{len(self.received)}_{position}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for position, (name, arguments) in enumerate(turn)
            ]
        reason = "stop" if isinstance(turn, str) else "tool_calls"
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return JSONResponse(answer)
