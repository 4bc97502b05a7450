"""What the clients of mcp 1.x, mcp 2.x and FastMCP have in common: method names, callbacks.

The three differ in the module of their types, which is a parameter here, and in the few calls
that each script replaces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from driver import Heard, Params, RefusedError


def callbacks(heard: Heard, types: ModuleType) -> dict[str, Any]:
    """The client's side of the conversation: what it answers and what it listens to."""

    async def sample(_context: Any, params: Any) -> Any:
        try:
            answer = heard.ask("sampling/createMessage", params)
        except RefusedError as no:
            return types.ErrorData(code=no.code, message=str(no))
        return types.CreateMessageResult.model_validate(answer)

    async def elicit(_context: Any, params: Any) -> Any:
        return types.ElicitResult.model_validate(heard.ask("elicitation/create", params))

    async def list_roots(_context: Any) -> Any:
        return types.ListRootsResult.model_validate(heard.ask("roots/list", {}))

    return {
        "sampling_callback": sample,
        "elicitation_callback": elicit,
        "list_roots_callback": list_roots,
        "logging_callback": heard.log,
        "message_handler": heard.message,
    }


def reference(types: ModuleType, ref: Params) -> Any:
    """The library's form of what completion/complete refers to."""
    is_prompt = ref["type"] == "ref/prompt"
    model = types.PromptReference if is_prompt else types.ResourceTemplateReference
    return model.model_validate(ref)


def calls(client: Any, types: ModuleType) -> dict[str, Callable[[Params], Awaitable[Any]]]:
    """MCP method -> the call, as the official clients spell it."""
    return {
        "ping": lambda _: client.send_ping(),
        "logging/setLevel": lambda p: client.set_logging_level(p["level"]),
        "notifications/roots/list_changed": lambda _: client.send_roots_list_changed(),
        "tools/list": lambda _: client.list_tools(),
        "resources/list": lambda _: client.list_resources(),
        "resources/templates/list": lambda _: client.list_resource_templates(),
        "resources/read": lambda p: client.read_resource(p["uri"]),
        "resources/subscribe": lambda p: client.subscribe_resource(p["uri"]),
        "resources/unsubscribe": lambda p: client.unsubscribe_resource(p["uri"]),
        "prompts/list": lambda _: client.list_prompts(),
        "prompts/get": lambda p: client.get_prompt(p["name"], p.get("arguments")),
        "completion/complete": lambda p: client.complete(
            reference(types, p["ref"]), p["argument"], p.get("context", {}).get("arguments")
        ),
    }
