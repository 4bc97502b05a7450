"""No event loop at all: a URL and a command."""

import json
import subprocess
import urllib.request

import pytest

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
}
HEAD = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.mark.mcpmock("weather.jsonl")
@pytest.mark.parametrize("n", range(4))
def test_over_http(mcpmock_server, n):
    post = urllib.request.Request(mcpmock_server.url, json.dumps(INITIALIZE).encode(), HEAD)
    with urllib.request.urlopen(post, timeout=20) as answer:
        assert answer.headers["Mcp-Session-Id"]
        assert json.load(answer)["result"]["serverInfo"]["name"] == "weather"
    mcpmock_server.assert_called("initialize", times=1)


@pytest.mark.mcpmock("weather.jsonl")
def test_over_stdio(mcpmock_server):
    lines = json.dumps(INITIALIZE).encode() + b"\n"
    done = subprocess.run(mcpmock_server.command, input=lines, capture_output=True, timeout=20)

    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "weather"
    assert not done.returncode


@pytest.mark.mcpmock("weather.jsonl")
def test_nobody_comes(mcpmock_server, mcpmock_cassette):
    assert [len(take.events) for take in mcpmock_cassette.load().takes] == [8]
    assert mcpmock_server.requests() == []
