"""Names, people's words, other languages and nonsense: the field cases of a query's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.shelf import open_shelf, tool

if TYPE_CHECKING:
    from pathlib import Path

CODE = tuple(
    tool(name, description, "graph")
    for name, description in {
        "search_graph": "Find nodes of the code graph by name or label.",
        "trace_path": "Follow calls from one function to another.",
        "get_code_snippet": "Return the source of a function.",
        "query_graph": "Run a query over the code graph.",
        "search_code": "Search source text for a pattern.",
        "index_repository": "Read a repository into the graph.",
        "list_projects": "List indexed projects.",
        "delete_project": "Remove a project.",
    }.items()
)
MAIL = (
    tool("GMAIL_FETCH_EMAILS", "Fetch messages.", "gmail"),
    tool("rotate_image", "Turns a picture by an angle.", "pictures"),
    tool("convert_currency", "Converts an amount between currencies.", "finance"),
    tool("book_table", "Reserves a table in a restaurant.", "dining"),
    tool("start_timer", "Starts a countdown.", "clock"),
    tool("restart_pod", "Restarts a pod; fixes CrashLoopBackOff on node-7.example.", "cluster"),
)
LANGUAGES = (
    tool("create_invoice", "Create an invoice for a customer", "billing"),
    tool("weather_now", "Current weather for a city", "weather"),
    tool("开票", "为客户开具发票。", "billing-zh"),
    tool("query_weather", "查询城市当前的天气。", "weather-zh", when_to_use="想知道今天天气时使用"),
)


@pytest.mark.promise("search-exact-names")
async def test_an_exact_name_comes_first_in_any_spelling(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *CODE)
    for asked in (
        "search_graph",
        "searchGraph",
        "SEARCH-GRAPH",
        "search graph",
        "graph/search_graph",
        "graph__search_graph",
        "`search_graph`",
        "ｓｅａｒｃｈ＿ｇｒａｐｈ",
    ):
        assert (await shelf.names(asked))[0] == "search_graph", asked


@pytest.mark.promise("search-exact-names")
async def test_several_names_in_one_query_each_get_a_place(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *CODE)
    found = await shelf.names("trace_path get_code_snippet index_repository")
    assert found[:3] == ["trace_path", "get_code_snippet", "index_repository"]
    hits = (await shelf.ask("trace_path get_code_snippet")).queries[0].hits
    assert [hit.why for hit in hits[:2]] == ["named", "named"]


@pytest.mark.promise("search-exact-names")
async def test_a_name_inside_a_sentence_keeps_a_place(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *CODE, *MAIL)
    told = await shelf.names("why does my pod restart? maybe use convert_currency afterwards", 3)
    plain = await shelf.names("fetch the newest gmail messages, later we will start timer", 3)
    assert told[0] == "convert_currency"
    assert "start_timer" in plain


@pytest.mark.promise("search-exact-names")
async def test_the_beginning_of_a_name_keeps_a_place(tmp_path: Path) -> None:
    many = [tool(f"report_{n}", "Makes a report.", "reports") for n in range(40)]
    shelf = await open_shelf(tmp_path, *CODE, *many)
    assert "get_code_snippet" in await shelf.names("get_code_snip")
    assert "index_repository" in await shelf.names("call index_repo please", limit=2)
    # What fits forty names says nothing about any of them.
    hits = (await shelf.ask("trace_path report_")).queries[0].hits
    assert hits[0].tool.name == "trace_path"
    assert "name in the query" not in {hit.why for hit in hits}


@pytest.mark.promise("search-peoples-words")
@pytest.mark.parametrize(
    "asked",
    ["check my inbox", "new mail?", "e-mails from Ana", "fetchEmails", "gmial messages", "mail"],
)
async def test_peoples_words_find_a_tool_with_other_words(tmp_path: Path, asked: str) -> None:
    shelf = await open_shelf(tmp_path, *MAIL, *CODE)
    assert "GMAIL_FETCH_EMAILS" in await shelf.names(asked, limit=3)


@pytest.mark.promise("search-peoples-words")
async def test_codes_and_host_names_are_found_though_no_encoder_knows_them(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *MAIL, *CODE)
    for asked in ("CrashLoopBackOff", "node-7.example"):
        assert (await shelf.names(asked))[0] == "restart_pod"


@pytest.mark.promise("search-nothing-fits")
async def test_gibberish_finds_nothing(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *MAIL, *CODE)
    for asked in ("qwxzv", "xkcd9 brrt", "🌦️🌦️", "...", "", "   ", "\n\t"):
        answer = await shelf.ask(asked)
        assert answer.queries[0].hits == (), asked


@pytest.mark.promise("search-nothing-fits")
async def test_a_name_is_found_however_little_it_means(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *MAIL, tool("qwxzv", "Zzz."))
    assert (await shelf.names("qwxzv"))[0] == "qwxzv"


@pytest.mark.promise("search-languages")
async def test_chinese_requests_find_tools_with_chinese_words(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *LANGUAGES)
    assert (await shelf.names("开具发票"))[0] == "开票"
    assert (await shelf.names("今天北京天气怎么样"))[0] == "query_weather"
    assert (await shelf.names("开票"))[0] == "开票"


@pytest.mark.promise("search-languages")
async def test_mixed_and_other_languages_find_by_what_is_shared(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *LANGUAGES)
    assert "create_invoice" in await shelf.names("新建 invoice 给客户")
    await shelf.put(tool("wetter", "Das Wetter in Köln und anderswo.", "wetter"))
    await shelf.finish_vectors()
    assert (await shelf.names("Wetter in Koln"))[0] == "wetter"
    assert (await shelf.names("ＷＥＴＴＥＲ"))[0] == "wetter"


@pytest.mark.promise("search-odd-queries")
@pytest.mark.parametrize(
    "asked",
    [
        "facture", "天", "🌦️", "", "   ", "a", "x" * 10_000, "天气" * 5_000, "a b " * 3_000,
        "\x00", "\ud800", "'; DROP TABLE tools; --", "\"*^:()", "NEAR/3 OR", "ß" * 999,
        "search_graph " * 900, "_" * 5_000, "👩‍👩‍👧‍👦", "e\u0301" * 400,
    ],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
async def test_no_query_breaks_the_search(tmp_path: Path, asked: str) -> None:
    shelf = await open_shelf(tmp_path, *LANGUAGES, *CODE)
    answer = await shelf.ask(asked, "weather")
    assert answer.queries[0].query == asked
    assert answer.queries[1].hits


async def test_odd_contracts_are_indexed(tmp_path: Path) -> None:
    nested = {
        "type": "object",
        "properties": {"a": {"properties": {"b": {"description": "\ud800 zebra"}}}},
    }
    odd = (
        tool("\x01", "nul \x00 and controls", "odd", tags=("ünïcode", "")),
        tool(
            "n",
            "",
            "odd2",
            input_schema=nested,
            examples=[{"request": "  "}, {"request": "\x00"}],
        ),
        tool("bool", "x", "odd3", input_schema={"properties": {"q": True, "r": {"items": True}}}),
        tool("list", "x", "odd4", input_schema={"properties": []}),
    )
    shelf = await open_shelf(tmp_path, *odd)
    assert (await shelf.names("controls"))[0] == "\x01"
    assert (await shelf.names("zebra"))[0] == "n"
    assert "\x01" in await shelf.names("unicode")
