"""A client of the Python SDK, 1.x or 2.x, that logs in, lists the tools and calls one.

    python login.py URL

Prints what it does, a JSON object a line: `authorize` with the parameters of the page that a user
would see, `granted` with the scopes of a token, `answered`, and `error`, with exit status 1. The
tool is that of the variable LOGIN_CALL (`{"name", "arguments"}`), else the first of the list. With
LOGIN_CLIENT_ID, the client has a metadata document at that URL. The user agrees at once.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 (the SDK's own example runs on it)
import json
import logging
import os
import sys
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

if version("mcp").startswith("1."):
    import httpx as http_library
else:
    import httpx2 as http_library

logging.disable()


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Storage:
    """In memory."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens
        tell(granted=tokens.scope or "")

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Browser:
    """Follows the redirect of the authorization server."""

    back: dict[str, str]

    async def open(self, url: str) -> None:
        tell(authorize=dict(parse_qsl(urlsplit(url).query)))
        async with http_library.AsyncClient() as http:
            answer = await http.get(url)
        self.back = dict(parse_qsl(urlsplit(answer.headers.get("location", "")).query))

    async def come_back(self) -> Any:
        if "code" not in self.back:
            raise RuntimeError(f"the authorization server refused: {self.back}")
        if version("mcp").startswith("1."):
            return self.back["code"], self.back.get("state")
        from mcp.shared.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(
            **{key: self.back.get(key) for key in ("code", "state", "iss")}
        )


async def main(url: str) -> None:
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="test", redirect_uris=["http://localhost:3000/back"])  # type: ignore[list-item]
    auth = OAuthClientProvider(
        url,
        metadata,
        Storage(),
        browser.open,
        browser.come_back,
        client_metadata_url=os.environ.get("LOGIN_CLIENT_ID"),
    )
    async with (
        http_library.AsyncClient(auth=auth, timeout=20) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        call = json.loads(os.environ.get("LOGIN_CALL", "{}"))
        if tools or call:
            name = call.get("name") or tools[0].name
            result = await session.call_tool(name, call.get("arguments", {}))
            tell(answered=result.content[0].text)


def first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    try:
        asyncio.run(asyncio.wait_for(main(sys.argv[1]), 25))
    except BaseException as error:  # noqa: BLE001 (a group, or what cancelled it)
        tell(error=f"{type(first(error)).__name__}: {first(error)}".splitlines()[0][:200])
        sys.exit(1)
