"""From nothing to a tool that is found and called. The README shows it."""

# region: all
import anyio

from toolcrib_client import Crib, tool


@tool(read_only=True)
def words_in(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


async def main() -> None:
    async with Crib(["toolcrib", "serve", "--stdio"]) as crib:
        await crib.publish(words_in)
        for hit in await crib.search("count the words of a sentence"):
            print(hit)
            print((await crib.call(hit.name, {"text": "a crib full of tools"})).unwrap())


if __name__ == "__main__":
    anyio.run(main)
# endregion
