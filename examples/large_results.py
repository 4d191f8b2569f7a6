"""Results that are too large for a model; `docs/results.md` shows it.

Expects a crib that offers `examples/tools/sales_ledger.py` as the source `sales`.
"""

# region: all
import anyio

from toolcrib_client import Crib, handle_of


async def show(crib: Crib) -> None:
    # A program takes everything. As a model gets it, it is a preview and a handle.
    result = await crib.call("sales/list_sales", whole=False)
    print(result.text.splitlines()[1])
    handle = str(handle_of(result))

    print(await crib.read(handle, "rows[5].city"))
    print(await crib.read(handle, filter="[r.id for r in it.rows if r.price > 99.8]"))

    # The prices go from tool to tool without passing through here.
    ulm = "[r.price for r in it.rows if r.city == 'Ulm']"
    average = await crib.call("sales/average_price", {"prices": {"$handle": handle, "filter": ulm}})
    print(average.unwrap())


async def main() -> None:
    async with Crib(["toolcrib", "serve", "--stdio"]) as crib:
        await show(crib)


if __name__ == "__main__":
    anyio.run(main)
# endregion
