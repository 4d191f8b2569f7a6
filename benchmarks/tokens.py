"""What an agent pays in tokens: every definition as a client gets it, against what toolcrib shows.

    python -m benchmarks.tokens DATA_PATH [--tokenizer-dir DIR] [--home FOLDER]

DATA_PATH holds stored lists of servers (see `corpus_home.py`). Counts with o200k_base; tiktoken
fetches its vocabulary once, or reads it from `--tokenizer-dir` (its cache folder). The endpoint is
the real one, asked in process by an MCP client. Making the vectors takes minutes the first time;
`--home` keeps them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import tiktoken
from mcp.client.client import Client

from benchmarks.corpus_home import StoredList, fill, stored_lists
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint, EndpointKind
from toolcrib_adapters.surfaces.group_summary import visible_groups
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_registry.modes import FULL_TOKENS
from toolcrib_registry.records import EndpointMode
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from toolcrib_adapters.main import Crib

QUESTIONS = (
    "open a pull request from my branch",
    "who reviewed this merge request",
    "what is the weather in Oslo tomorrow",
    "send an email to the whole team",
    "create a task that is due on Friday",
    "close the ticket and leave a comment",
    "which pods keep restarting",
    "show the logs of a failed deployment",
    "what did we spend on storage last month",
    "run a SQL query on the warehouse",
    "list the tables of this database",
    "find papers about protein folding",
    "search the web for news about batteries",
    "take a screenshot of the page",
    "click the login button and fill in the form",
    "draw a bar chart of sales by region",
    "add a slide with a title and a picture",
    "replace a word everywhere in a document",
    "write a formula into a spreadsheet cell",
    "read a file and show its last lines",
    "what changed between these two commits",
    "undo the last commit",
    "convert a time from Tokyo to New York",
    "remember that Anna prefers tea",
    "turn off the lights in the kitchen",
    "log today's workout",
    "how many shares does this company have",
    "income statement of a listed company",
    "send an invoice to a customer",
    "who is on call this weekend",
    "acknowledge the incident",
    "switch a feature flag on for beta users",
    "translate an address into coordinates",
    "how long does it take to drive to the airport",
    "book the meeting room at three",
    "upload a picture to the wiki page",
    "restart the application server",
    "trigger the nightly workflow again",
    "find flaky tests in the last builds",
    "which error is the most frequent in production",
)


@dataclass(frozen=True)
class Counted:
    """A text's kind, its real number of tokens and our estimate."""

    kind: str
    real: int
    estimate: int


class Counter:
    """Counts texts and remembers how far the estimate was off."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        self.counted: list[Counted] = []

    def count(self, text: str, kind: str) -> int:
        """The real number of tokens."""
        real = len(self._encoding.encode(text, disallowed_special=()))
        self.counted.append(Counted(kind, real, estimate_tokens(text)))
        return real


@dataclass(frozen=True)
class Seen:
    """What an agent saw: the first contact, then the answers to the questions."""

    tools: list[dict[str, Any]]
    instructions: str
    answers: list[tuple[str, Any]]
    full: list[dict[str, Any]]
    groups: list[list[dict[str, Any]]]


async def seen_through_toolcrib(settings: CribSettings) -> Seen:
    """Ask the endpoint over the stored catalogue."""
    async with open_crib(settings, wants=lambda _: False) as crib:
        async with _client(crib, MAIN) as client:
            tools = await _all_tools(client)
            answers = [await _asked(client, question) for question in QUESTIONS]
            instructions = client.instructions or ""
        full = await _listed(crib, replace(MAIN, mode=EndpointMode.FULL))
        names = [group.name for group in visible_groups(Sight(crib.catalogue.snapshot))]
        groups = [await _listed(crib, Endpoint(EndpointKind.GROUP, name)) for name in names]
        return Seen(tools, instructions, answers, full, groups)


def _client(crib: Crib, endpoint: Endpoint) -> Client:
    return Client(build_server(crib.catalogue, crib.calls, crib.search, endpoint=endpoint))


async def _listed(crib: Crib, endpoint: Endpoint) -> list[dict[str, Any]]:
    async with _client(crib, endpoint) as client:
        return await _all_tools(client)


async def _all_tools(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += [tool.model_dump(by_alias=True, exclude_none=True) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _asked(client: Client, question: str) -> tuple[str, Any]:
    answer = await client.call_tool("search_tools", {"queries": [question]})
    told = answer.model_dump(by_alias=True)
    return told["content"][0]["text"], told["structuredContent"]


def compact(value: object) -> str:
    """JSON as it goes over a wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def for_a_model(tool: dict[str, Any]) -> str:
    """The part of a definition that clients hand to a model."""
    parts = {"name": tool.get("name"), "description": tool.get("description")}
    return compact({**parts, "parameters": tool.get("inputSchema")})


def report(lists: list[StoredList], seen: Seen, counter: Counter) -> None:
    """Print the tables."""
    raw = [tool for found in lists for tool in found.tools]
    wire = counter.count(compact(raw), "whole lists")
    model = sum(counter.count(for_a_model(tool), "one definition") for tool in raw)
    told = sum(counter.count(found.instructions, "instructions") for found in lists)
    print(f"\n| {len(lists)} servers, {len(raw):,} tools | tokens |\n|---|---:|")
    print(f"| definitions as `tools/list` sends them | {wire:,} |")
    print(f"| of these what a model is given (name, description, input schema) | {model:,} |")
    print(f"| instructions of the servers | {told:,} |")
    _report_first_contact(seen, counter, model)
    _report_modes(seen, counter)
    _report_answers(seen, counter)
    _report_estimate(counter)


def _report_first_contact(seen: Seen, counter: Counter, model: int) -> None:
    each = {t["name"]: counter.count(for_a_model(t), "meta-tool") for t in seen.tools}
    instructions = counter.count(seen.instructions, "meta-tool")
    first = sum(each.values())
    wire = counter.count(compact(seen.tools), "whole lists")
    for name, tokens in each.items():
        print(f"| toolcrib: `{name}` | {tokens:,} |")
    print(f"| toolcrib: all {len(each)} definitions, for a model | {first:,} |")
    print(f"| toolcrib: the same as `tools/list` sends them | {wire:,} |")
    print(f"| toolcrib: instructions | {instructions:,} |")
    both = first + instructions
    print(f"| **toolcrib: first contact** (definitions, instructions) | **{both:,}** |")
    print(f"| left of 1,000 | {1_000 - both:,} |")
    print(f"| times fewer than all definitions | {model / both:,.0f} |")


def _report_modes(seen: Seen, counter: Counter) -> None:
    if not seen.groups:
        return
    print("\n| what an endpoint publishes | tools | for a model | as `tools/list` sends it |")
    print("|---|---:|---:|---:|")
    groups = sorted(seen.groups, key=lambda tools: _for_models(tools, counter))
    lists = {
        "`/mcp`, dynamic (search)": seen.tools,
        "`/mcp`, full (all)": seen.full,
        f"`/mcp/GROUP`, the median of {len(groups)} groups": groups[len(groups) // 2],
        "`/mcp/GROUP`, the largest group": groups[-1],
    }
    for title, tools in lists.items():
        wire = counter.count(compact(tools), "whole lists")
        print(f"| {title} | {len(tools):,} | {_for_models(tools, counter):,} | {wire:,} |")
    small = sum(_for_models(tools, counter) <= FULL_TOKENS for tools in groups)
    print(f"| groups that cost at most {FULL_TOKENS:,}, so that `auto` lists them | {small} | | |")


def _for_models(tools: list[dict[str, Any]], counter: Counter) -> int:
    return sum(counter.count(for_a_model(tool), "one definition") for tool in tools)


def _report_answers(seen: Seen, counter: Counter) -> None:
    texts = [counter.count(text, "search answer") for text, _ in seen.answers]
    facts = [counter.count(compact(data), "search answer, JSON") for _, data in seen.answers]
    hits = [len(data["results"][0]["hits"]) for _, data in seen.answers]
    print(f"\n| a `search_tools` answer, {len(texts)} questions | median | p90 | most |")
    print("|---|---:|---:|---:|")
    for title, counts in (("text", texts), ("structured content", facts), ("hits", hits)):
        ordered = sorted(counts)
        p90 = ordered[round(0.9 * (len(ordered) - 1))]
        print(f"| {title} | {statistics.median(ordered):,.0f} | {p90:,} | {ordered[-1]:,} |")


def _report_estimate(counter: Counter) -> None:
    print("\n| `estimate_tokens` / o200k_base | texts | p5 | median | p95 |")
    print("|---|---:|---:|---:|---:|")
    kinds = dict.fromkeys(counted.kind for counted in counter.counted)
    for kind in kinds:
        ratios = sorted(c.estimate / c.real for c in counter.counted if c.kind == kind and c.real)
        low, high = (ratios[round(q * (len(ratios) - 1))] for q in (0.05, 0.95))
        middle = statistics.median(ratios)
        print(f"| {kind} | {len(ratios):,} | {low:.2f} | {middle:.2f} | {high:.2f} |")


async def measured(lists: list[StoredList], home: Path) -> Seen:
    """Fill the home, then ask."""
    settings = CribSettings(home=home, database=None, encoder="default")
    await fill(settings, lists)
    return await seen_through_toolcrib(settings)


def main() -> None:
    """Measure and print Markdown tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data_path", type=Path, help="a folder of stored lists")
    parser.add_argument("--tokenizer-dir", type=Path, help="tiktoken's cache folder")
    parser.add_argument("--home", type=Path, help="keep the filled home here")
    options = parser.parse_args()
    if options.tokenizer_dir:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(options.tokenizer_dir)
    counter = Counter(tiktoken.get_encoding("o200k_base"))
    lists = stored_lists(options.data_path)
    with tempfile.TemporaryDirectory() as temporary:
        seen = anyio.run(measured, lists, options.home or Path(temporary))
    report(lists, seen, counter)


if __name__ == "__main__":
    main()
