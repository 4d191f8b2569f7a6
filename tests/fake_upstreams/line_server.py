"""An MCP server of 2025-11-25 written line by line, without any SDK: `line_server.py SCRIPT`.

It does what no library would do: odd lists, odd bytes, dying in the middle. `SCRIPT` is JSON:

    tools        the entries of tools/list, as they are (default: the names that it can call)
    page         what a page has in place of a list
    page_size    how many of them in a page
    cursor       "loop" repeats a cursor, "endless" never ends, "empty" writes "" at the end
    list_error   how many times tools/list fails first
    before       text that is written to stdout before anything else
    complaint    text that is written to stderr at the start
    starts       a file to which each start appends a line
    capabilities the server's capabilities
    ends         exit code with which it ends at once
    deaf         ignores the end of stdin and SIGTERM

Only the standard library is used, so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
SCRIPT: Message = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
heard: list[Message] = []
gathered: list[tuple[Message, Message]] = []
added: list[Message] = []
list_errors = [SCRIPT.get("list_error", 0)]


def write(text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: Message) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def answer(request: Message, value: Message) -> None:
    text = json.dumps(value)
    block = {"type": "text", "text": text}
    send({"id": request["id"], "result": {"content": [block], "structuredContent": value}})


def fail(request: Message, code: int, message: str) -> None:
    send({"id": request["id"], "error": {"code": code, "message": message}})


def tools() -> list[Any]:
    default = [{"name": name, "inputSchema": {"type": "object"}} for name in CALLED]
    listed: list[Any] = SCRIPT.get("tools", default)
    return listed + added


def list_tools(request: Message) -> None:
    if list_errors[0] > 0:
        list_errors[0] -= 1
        fail(request, -32603, "the shelf is locked")
        return
    start = int((request.get("params") or {}).get("cursor") or 0)
    size = SCRIPT.get("page_size", 1_000_000)
    result: Message = {"tools": tools()[start : start + size]}
    if "page" in SCRIPT:
        result["tools"] = SCRIPT["page"]
    elif SCRIPT.get("cursor") == "loop":
        result["nextCursor"] = "1"
    elif SCRIPT.get("cursor") == "endless":
        result["nextCursor"] = str(start + 1)
    elif start + size < len(tools()):
        result["nextCursor"] = str(start + size)
    elif SCRIPT.get("cursor") == "empty":
        result["nextCursor"] = ""
    send({"id": request["id"], "result": result})


def call_tool(request: Message) -> None:
    name, given = request["params"]["name"], request["params"].get("arguments") or {}
    if name in CALLED:
        CALLED[name](request, given)
    else:
        fail(request, -32602, "Unknown tool: " + name)


def environment(request: Message, _given: Message) -> None:
    here = {"cwd": str(Path.cwd()), "pid": os.getpid()}
    answer(request, {"env": dict(os.environ), "args": sys.argv[2:], **here})


def tell_heard(request: Message, _given: Message) -> None:
    answer(request, {"heard": heard})


def wait(_request: Message, _given: Message) -> None:
    send({"method": "notifications/message", "params": {"level": "info", "data": "waiting"}})


def die(_request: Message, _given: Message) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def mute(_request: Message, _given: Message) -> None:
    """Close stdout and live on."""
    os.close(1)


def nap(request: Message, given: Message) -> None:
    """Do nothing else meanwhile, as a server does that has one thread."""
    time.sleep(given["seconds"])
    answer(request, {"slept": given["seconds"]})


def add(request: Message, given: Message) -> None:
    added.append({"name": given["name"], "inputSchema": {"type": "object"}})
    send({"method": "notifications/tools/list_changed"})
    answer(request, {})


def ask(request: Message, _given: Message) -> None:
    """Ask something back that nobody answers, and try to cancel the caller."""
    send({"id": "q1", "method": "sampling/createMessage", "params": {"messages": []}})
    send({"method": "notifications/cancelled", "params": {"requestId": request["id"]}})
    answer(request, {})


def gather(request: Message, given: Message) -> None:
    """Answer nobody until so many have asked; then the last one first."""
    gathered.append((request, given))
    if len(gathered) == given["of"]:
        for earlier, its_arguments in reversed(gathered):
            answer(earlier, its_arguments)
        gathered.clear()


def progress(request: Message, given: Message) -> None:
    token = (request["params"].get("_meta") or {}).get("progressToken")
    for step in range(given["steps"] if token is not None else 0):
        facts = {"progressToken": token, "progress": step, "total": given["steps"]}
        send({"method": "notifications/progress", "params": {**facts, "message": f"step {step}"}})
    answer(request, {"token_given": token is not None})


def written(request: Message, given: Message) -> None:
    """Write what the caller wants; `ID` becomes the request's id, `FILL` a long text."""
    if "stderr" in given:
        sys.stderr.write(given["stderr"] * given.get("times", 1))
        sys.stderr.flush()
        answer(request, {})
        return
    text = given["text"].replace("ID", json.dumps(request["id"]))
    data = text.encode("latin-1")
    write(data.replace(b"FILL", b"x" * given.get("fill", 0)) + b"\n")


CALLED = {
    "echo": answer,
    "environment": environment,
    "heard": tell_heard,
    "wait": wait,
    "gather": gather,
    "progress": progress,
    "write": written,
    "die": die,
    "mute": mute,
    "nap": nap,
    "add": add,
    "ask": ask,
}


def handle(message: Message) -> None:
    method = message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        result = {
            "protocolVersion": version,
            "capabilities": SCRIPT.get("capabilities", {"tools": {"listChanged": True}}),
            "serverInfo": {"name": "line-server", "title": "Line server", "version": "1"},
            "instructions": "Mind the lines.",
        }
        send({"id": message["id"], "result": result})
    elif method == "tools/list":
        list_tools(message)
    elif method == "tools/call":
        call_tool(message)
    elif "id" in message and method:
        fail(message, -32601, "Method not found")


def main() -> None:
    if "starts" in SCRIPT:
        with Path(SCRIPT["starts"]).open("a") as starts:
            starts.write(f"{os.getpid()}\n")
    if "before" in SCRIPT:
        write(SCRIPT["before"])
    if "complaint" in SCRIPT:
        sys.stderr.write(SCRIPT["complaint"])
        sys.stderr.flush()
    if "ends" in SCRIPT:
        sys.exit(SCRIPT["ends"])
    if SCRIPT.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        heard.append(message)
        handle(message)
    while SCRIPT.get("deaf"):
        time.sleep(3600)


main()
