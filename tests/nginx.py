"""A real nginx in front of an address, configured with the block of the documentation.

Used by the tests of the endpoint behind a proxy.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
import pytest

from tests.docs_blocks import blocks_of_documents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PATIENCE: Final = 30
_FRAME: Final = """
{user}
pid nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {block}
}}
"""


def nginx_program() -> str:
    """Where nginx is; skips the test where there is none, but fails it in CI."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is not None:
        return found
    reason = "needs nginx (Debian: apt-get install nginx-light)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def documented_block() -> str:
    """The configuration that the documentation shows."""
    (block,) = (block for block in blocks_of_documents() if block.language == "nginx")
    return block.text


@asynccontextmanager
async def nginx_before(url: str, folder: Path) -> AsyncIterator[str]:
    """The address of an nginx that passes requests on to `url`."""
    program = nginx_program()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    inner = url.removeprefix("http://").partition("/")[0]
    block = re.sub(r"\n\s*ssl_certificate\S*\s.*", "", documented_block())
    block = block.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    block = block.replace("server 127.0.0.1:8765;", f"server {inner};")
    user = "user root;" if os.geteuid() == 0 else ""
    settings = folder / "nginx.conf"
    settings.write_text(_FRAME.format(user=user, block=block))
    command = [program, "-p", str(folder), "-c", str(settings), "-g", "daemon off;"]
    async with await anyio.open_process(command, stdout=None, stderr=None) as process:
        try:
            await _listening(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE):
                await process.wait()


async def _listening(port: int) -> None:
    with anyio.fail_after(PATIENCE):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.sleep(0.02)
            else:
                await stream.aclose()
                return
