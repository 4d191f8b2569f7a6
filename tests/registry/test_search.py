"""What a question finds, and what it never finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.shelf import Shelf, open_shelf, running, tool
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.names import ToolId

if TYPE_CHECKING:
    from pathlib import Path

OFFICE = (
    tool("send_mail", "Sends an e-mail to one or more people.", "mail"),
    tool("list_inbox", "Lists the newest messages of the mailbox.", "mail"),
    tool("create_invoice", "Creates an invoice for a customer.", "billing"),
    tool("refund_payment", "Gives money back to a customer.", "billing"),
    tool("current_weather", "Tells the weather of a city right now.", "weather"),
    tool("forecast", "Tells the weather of the coming days.", "weather"),
)


@pytest.mark.promise("search-masks")
async def test_what_the_asker_may_not_see_takes_no_place(tmp_path: Path) -> None:
    copies = [
        tool(f"send_{n}", f"Sends an e-mail, way number {n}.", f"secret{n}") for n in range(30)
    ]
    shelf = await open_shelf(tmp_path, *copies, *OFFICE)
    answer = await shelf.ask("send an e-mail", allowed=lambda id_: id_.group == "mail", limit=3)
    assert [str(hit.tool) for hit in answer.queries[0].hits] == [
        "mail/send_mail",
        "mail/list_inbox",
    ]
    assert answer.groups == ("mail",)


@pytest.mark.promise("search-masks")
async def test_a_hidden_name_is_not_found_by_name_either(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    answer = await shelf.ask("create_invoice", allowed=lambda id_: id_.group == "mail")
    assert ToolId("billing", "create_invoice") not in answer.tools


@pytest.mark.promise("search-group")
async def test_a_question_may_be_limited_to_a_group_and_to_its_guests(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put_group("travel", "weather/forecast", "billing/refund_payment")
    home = await shelf.ask("weather tomorrow", group="weather")
    guests = await shelf.ask("weather tomorrow", group="travel")
    assert home.tools[0] == ToolId("weather", "forecast")
    assert {id_.group for id_ in home.tools} == {"weather"}
    assert guests.tools[0] == ToolId("weather", "forecast")
    assert set(guests.tools) <= {
        ToolId("weather", "forecast"),
        ToolId("billing", "refund_payment"),
    }


@pytest.mark.promise("search-group")
async def test_an_unknown_group_is_refused_with_the_nearest(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put_group("weather")
    with pytest.raises(ToolError, match="did you mean weather") as near:
        await shelf.ask("rain", group="wether")
    with pytest.raises(ToolError, match="search without a group"):
        await shelf.ask("rain", group="zzzzzz")
    assert near.value.code == "unknown_group"
    assert near.value.details == {"nearest": ["weather"]}


async def test_a_group_without_tools_has_no_hits(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put_group("empty")
    assert (await shelf.ask("rain", group="empty")).queries[0].hits == ()


@pytest.mark.promise("search-live")
@pytest.mark.parametrize("status", ["held", "yanked", "retired", "draft"])
async def test_what_may_not_be_called_is_not_found(tmp_path: Path, status: str) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    assert (await shelf.names("invoice for a customer"))[0] == "create_invoice"
    await shelf.mark(status, "billing/create_invoice")  # type: ignore[arg-type]
    assert "create_invoice" not in await shelf.names("create_invoice: invoice for a customer")


@pytest.mark.promise("search-live")
async def test_what_is_published_is_found_by_its_words_before_its_vector_is_made(
    tmp_path: Path,
) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put(tool("translate", "Translates a text into Portuguese.", "words"))
    answer = await shelf.ask("translates into Portuguese")
    assert answer.tools[0] == ToolId("words", "translate")
    assert answer.degraded == "vectors building 6/7; until then the others are found by words only"
    assert answer.revision == shelf.catalogue.snapshot.revision


@pytest.mark.promise("search-live")
async def test_vectors_follow_a_change_by_themselves(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    async with running(shelf):
        await shelf.put(tool("translate", "Turns a text into another language.", "words"))
        with anyio.fail_after(30):
            async for _ in shelf.search.building():
                pass
        answer = await shelf.ask("say this in Portuguese")
    assert answer.degraded is None
    assert answer.tools[0] == ToolId("words", "translate")


async def test_an_edited_description_is_found_by_its_new_words_only(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put(tool("forecast", "Predicts the price of electricity.", "weather"))
    await shelf.finish_vectors()
    assert (await shelf.names("price of electricity"))[0] == "forecast"
    assert (await shelf.names("weather of the coming days"))[0] == "current_weather"


@pytest.mark.promise("search-many-queries")
async def test_several_queries_have_answers_of_their_own_and_a_fair_order(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    answer = await shelf.ask("weather now", "invoice a customer", "qwxzv", limit=2)
    weather, invoice, nothing = ([hit.tool.name for hit in query.hits] for query in answer.queries)
    assert [query.query for query in answer.queries] == [
        "weather now",
        "invoice a customer",
        "qwxzv",
    ]
    assert weather == ["current_weather", "forecast"]
    assert invoice[0] == "create_invoice"
    assert nothing == []
    assert [id_.name for id_ in answer.tools] == [weather[0], invoice[0], weather[1], invoice[1]]
    assert answer.groups[:2] == ("weather", "billing")


@pytest.mark.promise("search-steps")
async def test_each_step_of_a_long_request_gets_its_tool(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    found = await shelf.names(
        "First look up the weather in Lisbon right now, then create an invoice for our customer "
        "there, and then send an e-mail with it to the accountant.",
        limit=4,
    )
    assert {"current_weather", "create_invoice", "send_mail"} <= set(found)


async def test_example_requests_draw_a_tool_towards_their_words(tmp_path: Path) -> None:
    examples = [{"request": "is it going to rain on my picnic"}, {"request": "do I need a coat"}]
    plain = await open_shelf(tmp_path / "plain", *OFFICE, tool("x17", "Meteo endpoint.", "misc"))
    shown = await open_shelf(
        tmp_path / "shown", *OFFICE, tool("x17", "Meteo endpoint.", "misc", examples=examples)
    )
    assert (await plain.names("should I take a coat to the picnic"))[:1] != ["x17"]
    assert (await shown.names("should I take a coat to the picnic"))[:1] == ["x17"]


async def test_when_not_to_use_does_not_attract(tmp_path: Path) -> None:
    away = tool("archive", "Moves old files away.", "files", when_not_to_use="weather forecasts")
    shelf = await open_shelf(tmp_path, *OFFICE, away)
    assert "archive" not in await shelf.names("weather forecasts", limit=2)


@pytest.mark.promise("search-diverse")
async def test_copies_of_one_tool_do_not_fill_an_answer(tmp_path: Path) -> None:
    copies = [tool("send_mail", "Sends an e-mail to people.", f"mail-{n}") for n in range(8)]
    twins = [tool("post", "Posts a message to a channel.", "chat")]
    shelf = await open_shelf(tmp_path, *copies, *twins)
    found = await shelf.ask("send a message to people", limit=5)
    assert ToolId("chat", "post") in found.tools[:2]
    assert len(found.tools) == 5


@pytest.mark.promise("search-cached")
async def test_a_repeated_question_is_answered_from_memory_until_something_changes(
    tmp_path: Path,
) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    first = await shelf.ask("invoice")
    again = await shelf.ask("invoice")
    await shelf.mark("retired", "billing/create_invoice")
    later = await shelf.ask("invoice")
    assert again.queries[0] is first.queries[0]
    assert ToolId("billing", "create_invoice") in first.tools
    assert ToolId("billing", "create_invoice") not in later.tools


async def test_a_question_with_a_mask_is_never_answered_from_memory(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    open_answer = await shelf.ask("invoice")
    closed = await shelf.ask("invoice", allowed=lambda id_: id_.group == "mail")
    assert ToolId("billing", "create_invoice") in open_answer.tools
    assert ToolId("billing", "create_invoice") not in closed.tools


@pytest.mark.promise("search-words-only")
async def test_without_an_encoder_words_alone_find_tools(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE, encoder="none")
    assert (await shelf.names("create an invoice"))[0] == "create_invoice"
    assert await shelf.names("bonjour") == []
    assert (await shelf.ask("invoice")).degraded is None


async def test_an_empty_catalogue_finds_nothing(tmp_path: Path) -> None:
    shelf: Shelf = await open_shelf(tmp_path)
    answer = await shelf.ask("anything", "")
    assert answer.tools == ()
    assert answer.degraded is None


@pytest.mark.promise("search-weak")
async def test_a_doubtful_hit_is_marked(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    sure = (await shelf.ask("create an invoice")).queries[0].hits
    doubtful = (await shelf.ask("who plays the piano in this city")).queries[0].hits
    assert sure[0].why == "fits the query"
    assert doubtful == () or doubtful[0].why == "weak: perhaps nothing fits"


@pytest.mark.promise("search-restart")
async def test_a_stored_index_is_complete_after_a_restart(tmp_path: Path) -> None:
    shelf = await open_shelf(tmp_path, *OFFICE)
    again = await open_shelf(tmp_path, store=shelf.catalogue.store)
    stored = await again.ask("money back")
    assert stored.degraded is None
    assert stored.tools[0] == ToolId("billing", "refund_payment")


@pytest.mark.promise("search-restart")
async def test_an_interrupted_build_goes_on_where_it_was(tmp_path: Path) -> None:
    many = [tool(f"tool_{n}", f"Does thing number {n} with object {n * 7}.") for n in range(90)]
    shelf = await open_shelf(tmp_path, *OFFICE)
    await shelf.put(*many)
    async with running(shelf):
        async for done, total in shelf.search.building():
            if len(OFFICE) < done < total:
                break
    assert done < total
    left = (await shelf.ask("thing")).degraded
    again = await open_shelf(tmp_path, store=shelf.catalogue.store)
    assert left is not None
    assert (await again.ask("thing")).degraded is None
