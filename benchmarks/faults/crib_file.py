"""The `crib.toml` of a run: sources, what the operator declares of their tools, and the rules.

Everything here is what an operator would write: how keys travel, which errors mean what, which
tools may stand in for which.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.faults.toolset import ERRORS, TOOLS, TRANSPORTS, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def crib_text(
    folder: Path, ports: Mapping[str, int], parts: tuple[str, ...], timeout_seconds: float
) -> str:
    """The file, with the parts of healing that are named and no others."""
    lines = [*_sources(folder, ports), *_overlays(), *_rules(parts, timeout_seconds)]
    return "\n".join(lines) + "\n"


def _sources(folder: Path, ports: Mapping[str, int]) -> Iterator[str]:
    for source, transport in TRANSPORTS.items():
        yield f"[sources.{source}]"
        if transport == "http":
            yield f'url = "http://127.0.0.1:{ports[source]}/mcp"'
            continue
        module = "benchmarks.faults.stdio_proxy"
        yield f"command = {_toml(sys.executable)}"
        yield f"args = {_toml(['-m', module, source, str(folder)])}"
        yield 'env = { PYTHONPATH = "${PYTHONPATH}" }'


def _overlays() -> Iterator[str]:
    for tool in TOOLS:
        yield f'[overlays."{tool.reference}"]'
        yield "errors = [" + ", ".join(_inline(error) for error in ERRORS) + "]"
        if tool.key:
            place, name = tool.key_place
            yield f"idempotency_key = {_inline({'place': place, 'name': name})}"


def _rules(parts: tuple[str, ...], timeout_seconds: float) -> Iterator[str]:
    for source in TRANSPORTS:
        yield f'[rules."source:{source}"]'
        yield f"timeout_seconds = {timeout_seconds}"
        yield f'repair = "{"repair" if "repair" in parts else "off"}"'
        if "retry" not in parts:
            yield "retries = 0"
    if "fallback" in parts:
        yield from _equivalents(tool for tool in TOOLS if tool.equivalents)


def _equivalents(tools: Iterator[Tool]) -> Iterator[str]:
    for tool in tools:
        yield f'[rules."tool:{tool.reference}"]'
        yield f"equivalents = {_toml(list(tool.equivalents))}"


def _inline(table: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{name} = {_toml(value)}" for name, value in table.items()) + " }"


def _toml(value: Any) -> str:
    """JSON of texts and lists of texts is TOML as well."""
    return json.dumps(value)
