# mypy: ignore-errors
# (It runs inside the virtual environment of the agents, which are not installed here.)
"""Agents made with a framework: pydantic-ai, openai-agents, langchain.

    frameworks.py NAME MODEL_URL SERVER

SERVER is what a configuration of MCP servers holds, in JSON: `command` and `args`, or `url`. Prints
what the agent says at the end.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio

QUESTION = "Look at the files."
MODEL = "scripted-model"


async def pydantic_ai(model_url: str, server: dict[str, Any]) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(
        MODEL, provider=OpenAIProvider(base_url=f"{model_url}/v1", api_key="none")
    )
    toolset = MCPToolset({"mcpServers": {"files": server}})
    agent = Agent(model, toolsets=[toolset])
    async with agent:
        return (await agent.run(QUESTION)).output


async def openai_agents(model_url: str, server: dict[str, Any]) -> str:
    from agents import (
        Agent,
        OpenAIResponsesModel,
        Runner,
        set_tracing_disabled,
    )
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    made = MCPServerStreamableHttp if "url" in server else MCPServerStdio
    async with made(params=server, client_session_timeout_seconds=60) as files:
        client = AsyncOpenAI(base_url=f"{model_url}/v1", api_key="none")
        model = OpenAIResponsesModel(MODEL, client)
        agent = Agent(name="a", model=model, mcp_servers=[files])
        return (await Runner.run(agent, QUESTION, max_turns=20)).final_output


async def langchain(model_url: str, server: dict[str, Any]) -> str:
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools
    from langchain_openai import ChatOpenAI

    transport = "streamable_http" if "url" in server else "stdio"
    client = MultiServerMCPClient({"files": {"transport": transport, **server}})
    async with client.session("files") as session:
        tools = await load_mcp_tools(session)
        model = ChatOpenAI(model=MODEL, base_url=f"{model_url}/v1", api_key="none")
        agent = create_agent(model, tools)
        said = await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]})
        return said["messages"][-1].content


if __name__ == "__main__":
    _, name, url, where = sys.argv
    print(anyio.run(globals()[name], url, json.loads(where)))
