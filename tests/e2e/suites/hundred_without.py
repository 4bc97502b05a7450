"""What `hundred` costs over a URL without us: the same calls, answered by a dozen lines."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from mcp import Client


def _answers():
    """What was recorded, by method."""
    asked, answers = {}, {}
    for line in Path("cassettes/time.jsonl").read_text("utf-8").splitlines():
        message = json.loads(line).get("m", {})
        if "method" in message:
            asked[message.get("id")] = message["method"]
        elif "result" in message:
            answers.setdefault(asked[message["id"]], message["result"])
    return answers


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    answers = _answers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": self.answers[asked["method"]]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def url():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()


@pytest.mark.asyncio
@pytest.mark.parametrize("n", range(100))
async def test_the_time(url, n):
    async with Client(url) as client:
        result = await client.call_tool("get_current_time", {"timezone": "Asia/Tokyo"})
    assert "Asia/Tokyo" in result.content[0].text
