"""What the client can do, one function each; `docs/client.md` shows them.

They expect a crib that offers `examples/tools/stock_room.py` as the source `stock-room`.
"""

from __future__ import annotations

import anyio

from toolcrib_client import Contract, Crib, InvalidArguments, NeedsHuman, ToolError


# region: search
async def find(crib: Crib) -> str:
    """The name of a tool that fits."""
    for hit in await crib.search("do we have enough bearings?", limit=3):
        print(hit.score, hit.signature)

    answer = await crib.search("convert inches to metres", "bake a cake")
    for result in answer.results:
        print(result.query, "->", "nothing" if result.nothing_fits else result.hits[0].name)
    return answer.hits[0].name


# endregion


# region: describe
async def read(crib: Crib) -> None:
    """What a caller may rely on."""
    (tool,) = await crib.describe("stock-room/check_stock")
    print(tool.name, tool.versions, tool.behaviour)
    print(tool.when_not_to_use)
    print(tool.input_schema["required"])


# endregion


# region: call
async def call(crib: Crib) -> None:
    """One call, and several at once."""
    result = await crib.call("stock-room__check_stock", {"number": "BB-608", "count": 10})
    print(result.status, result.unwrap())

    inches, metres = await crib.call_many(
        [
            ("stock-room__convert_length", {"value": 1, "unit": "m", "to": "in"}),
            ("stock-room__convert_length", {"value": 12, "unit": "in", "to": "m"}),
        ]
    )
    print(inches.unwrap(), metres.unwrap())


# endregion


# region: errors
async def fail(crib: Crib) -> None:
    """A failure is a result, too; unwrapping it raises an error of the class of its code."""
    result = await crib.call("stock-room__check_stock", {"number": "BB-608", "count": "many"})
    try:
        result.unwrap()
    except InvalidArguments as error:
        print("mend the call:", error.message)
    except NeedsHuman as error:
        print("ask before anything is repeated:", error.message)
    except ToolError as error:
        print(error.code, error.kind, error.message)


# endregion


# region: model
async def offer(crib: Crib) -> None:
    """Tools for a model, its tool call, and the message that answers it."""
    tools = await crib.tools("convert a length", format="anthropic", limit=1)
    print(tools[0]["name"], sorted(tools[0]))

    # This is what the model says. `dispatch` takes the objects of the SDKs as well.
    wish = {"value": 2, "unit": "ft", "to": "cm"}
    tool_use = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": wish}
    print(await crib.dispatch(tool_use))


# endregion


# region: publish
async def publish(crib: Crib) -> None:
    """A contract that agents can find and read from now on."""
    contract = Contract(
        group="purchasing",
        name="order_parts",
        version="1.0.0",
        description="Order parts from a supplier.",
        input_schema={"type": "object", "properties": {"number": {"type": "string"}}},
    )
    receipt = await crib.publish(contract)
    print(receipt.published)


# endregion


# region: connect
async def main() -> None:
    """Connect, look around, leave."""
    async with Crib(["toolcrib", "serve", "--stdio"]) as crib:
        for step in (find, read, call, fail, offer, publish):
            await step(crib)


# endregion

if __name__ == "__main__":
    anyio.run(main)
