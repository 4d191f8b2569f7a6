"""Answers that are kept for a key: sealed, bounded, and given again as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.ledger_cribs import Street, order
from toolcrib_protocol.errors import ANSWER_NOT_KEPT
from toolcrib_protocol.result import TOOL_META, Result
from toolcrib_registry.stored_answers import LARGEST_ANSWER

if TYPE_CHECKING:
    import pathlib

    from toolcrib_protocol.json_value import JsonObject


@pytest.fixture
def street(tmp_path: pathlib.Path) -> Street:
    """One shop, one ledger, no crib yet."""
    return Street(tmp_path)


def code(result: Result) -> str:
    return "" if result.error is None else result.error.code


@pytest.mark.promise("ledger-answers-sealed")
async def test_answers_are_sealed_and_those_that_are_too_large_are_not_kept(
    street: Street,
) -> None:
    calls = await street.crib()
    street.shop.answer = Result(data={"secret": "sesame"}, has_data=True)
    await calls.call(order("small"))
    street.shop.answer = Result(data={"much": "x" * LARGEST_ANSWER}, has_data=True)
    await calls.call(order("large"))
    kept = {entry.key: entry.answer for entry in street.store._entries.values()}
    told = await calls.call(order("large"))

    assert kept["large"] is None
    assert kept["small"] is not None
    assert b"sesame" not in kept["small"]
    assert code(told) == ANSWER_NOT_KEPT
    assert (await calls.call(order("small"))).data == {"secret": "sesame"}


@pytest.mark.promise("ledger-answers-sealed")
async def test_an_answer_whose_key_is_gone_is_not_made_up_by_calling_again(
    street: Street,
) -> None:
    calls = await street.crib()
    await calls.call(order("k"))
    (street.home / "keys").unlink()
    later = await street.crib()
    told = await later.call(order("k"))

    assert code(told) == ANSWER_NOT_KEPT
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-answers-sealed")
async def test_an_answer_that_no_key_seals_is_told_to_be_done_also_by_another_crib(
    street: Street,
) -> None:
    ring = street.home / "keys"
    ring.write_text("garbage")
    ring.chmod(0o600)
    first = await (await street.crib("one")).call(order("k"))
    street.dead.add("one")
    ring.unlink()
    told = await (await street.crib("other")).call(order("k"))

    assert not first.is_error
    assert code(told) == ANSWER_NOT_KEPT
    assert "the key ring could not seal it" in str(told.error)
    assert len(street.shop.orders) == 1


async def test_what_json_cannot_write_is_delivered_and_not_kept(street: Street) -> None:
    calls = await street.crib()
    street.shop.answer = Result(data={"odd": float("nan")}, has_data=True)
    assert not (await calls.call(order("k"))).is_error
    assert code(await calls.call(order("k"))) == ANSWER_NOT_KEPT


async def test_blocks_and_meta_survive_as_they_are(street: Street) -> None:
    calls = await street.crib()
    blocks: tuple[JsonObject, ...] = ({"type": "text", "text": "ünï"}, {"type": "odd", "x": [1]})
    street.shop.answer = Result(content=blocks, meta={"their/key": 1})
    first = await calls.call(order("k"))
    again = await calls.call(order("k"))

    assert again.content == first.content == blocks
    assert again.meta["their/key"] == 1
    assert not again.has_data


async def test_a_replayed_answer_says_which_tool_gave_it(street: Street) -> None:
    calls = await street.crib()
    street.shop.answer = Result(data=1, has_data=True, meta={TOOL_META: "other/tool@1.0.0"})
    await calls.call(order("k"))
    again = await calls.call(order("k"))
    assert again.meta[TOOL_META] == "other/tool@1.0.0"
