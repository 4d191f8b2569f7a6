"""`toolcrib search`: ask the stored index. No source is started and nothing leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.main import open_search
from toolcrib_adapters.surfaces.cli.index_mending import complete
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.questions import SearchRequest

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.questions import Hit, QueryAnswer, SearchAnswer
    from toolcrib_registry.snapshot import Snapshot

MOST_HITS = 50
_PATIENCE_SECONDS = 30.0
"""How long an index that is damaged or behind may keep a question waiting."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("search")(search)


def search(
    queries: Annotated[
        list[str],
        typer.Argument(help="What you want done, in plain words; several queries in quotes."),
    ],
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Only tools of this group.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Hits a query.", min=1, max=MOST_HITS)
    ] = 5,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find tools by what they do: toolcrib search "create a branch" "send a message".

    Asks the stored index: no server is started, nothing leaves this machine. `toolcrib show REF`
    tells all about a hit, `toolcrib call REF JSON` calls it.
    """
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> tuple[Snapshot, SearchAnswer]:
        snapshot, engine = await open_search(session.settings)
        await complete(engine, _PATIENCE_SECONDS)
        request = SearchRequest(tuple(queries), group=group, limit=limit)
        return snapshot, await engine.ask(request)

    snapshot, answer = session.run(work)
    if as_json:
        session.output.document(_document(snapshot, answer))
    else:
        _print(session, snapshot, answer)


def _document(snapshot: Snapshot, answer: SearchAnswer) -> JsonObject:
    results: list[Json] = [
        {"query": query.query, "hits": [_hit(snapshot, hit) for hit in query.hits]}
        for query in answer.queries
    ]
    return {"results": results, "revision": answer.revision, "degraded": answer.degraded}


def _hit(snapshot: Snapshot, hit: Hit) -> JsonObject:
    tool = snapshot.tools[hit.tool]
    return {
        "reference": f"{hit.tool}@{tool.head_version}",
        "published_name": tool.published_name,
        "description": _description(snapshot, hit),
        "score": hit.score,
        "why": hit.why,
    }


def _description(snapshot: Snapshot, hit: Hit) -> str:
    head = snapshot.tools[hit.tool].head
    return head.description if head is not None else ""


def _print(session: Session, snapshot: Snapshot, answer: SearchAnswer) -> None:
    if answer.degraded:
        session.output.note(f"note: {answer.degraded}")
    for number, query in enumerate(answer.queries):
        if number:
            session.output.line()
        if len(answer.queries) > 1:
            session.output.line(query.query, style="bold")
        _print_query(session, snapshot, query)


def _print_query(session: Session, snapshot: Snapshot, query: QueryAnswer) -> None:
    session.output.table(
        ["score", "tool", "description"],
        [
            (f"{hit.score:.2f}", str(hit.tool), short(_description(snapshot, hit)))
            for hit in query.hits
        ],
        empty=_nothing(snapshot, query.query),
    )


def _nothing(snapshot: Snapshot, query: str) -> str:
    if not any(tool.head for tool in snapshot.tools.values()):
        return (
            "there are no tools yet; `toolcrib import PATH` or `toolcrib add NAME ...` brings some"
        )
    return f"nothing fits {query!r}; `toolcrib groups` says what there is"
