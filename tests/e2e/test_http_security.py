"""Who is let in over HTTP: everything that a page in a browser may send is refused, and reaches
neither the server nor the cassette.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.http_caller import Answer, calling, posts
from tests.support.http_upstream import Asked, Reply, answers_all, upstream
from tests.support.processes import MCPMOCK

from .http_fronts import PING, PLAYED, fronts
from .http_processes import Served, recording

pytestmark = pytest.mark.e2e

JSON = ("Content-Type", "application/json")
METHODS = ("GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD")
Field = tuple[str, str]


def port_of(served: Served) -> int:
    port = urlsplit(served.url).port
    assert port is not None
    return port


async def said(served: Served, method: str, fields: Iterable[Field], target: str = "") -> Answer:
    """What a request of this method, with these fields and no others, is answered with."""
    async with calling(served.url) as caller:
        body = PING if method in ("POST", "PUT") else b""
        lines = [f"{method} {target or caller.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields]
        lines += [f"Content-Length: {len(body)}"] if body else []
        await caller.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body, method=method)
        answer = await caller.answer()
    assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]
    return answer


async def statuses(served: Served, cases: Iterable[list[Field]]) -> dict[str, set[int]]:
    """What all methods with each of these fields are answered with."""
    found: dict[str, set[int]] = {}
    for fields in cases:
        shown = ", ".join(f"{name}: {value}" for name, value in fields[:-1])
        found[shown] = {(await said(served, method, fields)).status for method in METHODS}
    return found


def ours(port: int) -> list[str]:
    names = ("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.9.9.9")
    return [f"{name}:{port}" for name in names]


def foreign(port: int) -> list[str]:
    return [
        "evil.example",
        f"evil.example:{port}",
        f"localhost.evil.example:{port}",
        f"evil-localhost:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"127.0.0.1@evil.example:{port}",
        f"evil.example#@localhost:{port}",
        f"localhost:{port}@evil.example",
        f"localhost:{port}, evil.example",
        f"http://localhost:{port}",
        f"localhost:{port}/",
        f"0.0.0.0:{port}",
        f"2130706433:{port}",
        f"0x7f.1:{port}",
        f"127.1:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        f"[::1%25lo]:{port}",
        f"localhost:{port ^ 1}",
        f"localhost:0x{port:x}",
        "localhost",
        "127.0.0.1:80",
        f":{port}",
        "",
    ]


async def test_hosts(tmp_path: Path) -> None:
    """With every method a Host that is not this machine and our port is 421, none or two are 421 or
    400; whoever names us is let in.
    """
    async with fronts(tmp_path) as three:
        for front in three.every:
            port = port_of(front)
            strange = await statuses(front, [[("Host", host), JSON] for host in foreign(port)])
            two = [("Host", f"localhost:{port}"), ("Host", "evil.example"), JSON]
            missing = await statuses(front, [[JSON], two, [two[1], two[0], JSON]])

            assert all(found == {421} for found in strange.values()), strange
            assert all(found <= {400, 421} for found in missing.values()), missing
        assert three.let_in() == 0
        for front in three.every:
            known = await statuses(front, [[("Host", h), JSON] for h in ours(port_of(front))])

            assert not any(found & {400, 403, 415, 421} for found in known.values()), known
        assert three.let_in() == len(ours(0)) * len(METHODS)
    assert b"evil" not in three.cassette.read_bytes()


FOREIGN_ORIGINS = [
    "http://evil.example",
    "https://localhost.evil.example",
    "http://evil.example:80/http://localhost",
    "http://localhost@evil.example",
    "http://localhost:80@evil.example",
    "http://evil.example#localhost",
    "http://evil.example\\localhost",
    "http://127.0.0.1.evil.example",
    "http://0.0.0.0",
    "null",
    "",
    "file://",
    "chrome-extension://localhost",
    "localhost",
    "http://localhost, http://evil.example",
    "http://localhost http://evil.example",
]
OUR_ORIGINS = ["http://localhost:1234", "http://127.0.0.1", "https://[::1]:9", "HTTP://LOCALHOST"]


async def test_origins(tmp_path: Path) -> None:
    """With every method an Origin that is not of this machine is 403, and so are two; whoever has
    none, or one of this machine, is let in.
    """
    async with fronts(tmp_path) as three:
        for front in three.every:
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            strange = await statuses(front, [[("Origin", o), host, JSON] for o in FOREIGN_ORIGINS])
            two = [("Origin", "http://localhost"), ("Origin", "http://evil.example"), host, JSON]
            strange |= await statuses(front, [two])

            assert all(found == {403} for found in strange.values()), strange
        assert three.let_in() == 0
        for front in three.every:
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            known = await statuses(front, [[("Origin", o), host, JSON] for o in OUR_ORIGINS])

            assert not any(found & {400, 403, 415, 421} for found in known.values()), known
        assert three.let_in() == len(OUR_ORIGINS) * len(METHODS)
    assert b"evil" not in three.cassette.read_bytes()


SIMPLE_TYPES = [
    "text/plain",
    "TEXT/PLAIN; charset=utf-8",
    "text/plain;a=application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
]


async def test_content_types(tmp_path: Path) -> None:
    """A POST of messages with a type that a page may send without being asked for, or without one,
    is 415; other wrong types and other paths are the server's affair.
    """
    async with fronts(tmp_path) as three:
        for front in three.every:
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            types = [[("Content-Type", media)] for media in SIMPLE_TYPES]
            types += [[], [JSON, ("Content-Type", "text/plain")]]
            for fields in types:
                for target in ("/mcp", "/mcp/", "/mcp?x=/other"):
                    answer = await said(front, "POST", [host, *fields], target)
                    assert answer.status == 415, (fields, target)
        assert three.let_in() == 0
        for front in (three.recorder, three.proxy):
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            for media, target in (("application/xml", "/mcp"), ("text/plain", "/elsewhere")):
                fields = [host, ("Content-Type", media)]
                assert (await said(front, "POST", fields, target)).status == 200
        assert three.let_in() == 2


async def test_preflights(tmp_path: Path) -> None:
    """A page that asks whether it may send is not told so, whoever it is (`said` looks)."""
    asking = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "*")]
    async with fronts(tmp_path) as three:
        for front in three.every:
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            strange = ("Origin", "http://evil.example")

            assert (await said(front, "OPTIONS", [host, strange, *asking])).status == 403
            known = await said(front, "OPTIONS", [host, ("Origin", "http://localhost:1"), *asking])
            assert known.status not in (403, 421)
        assert three.let_in() == 1


async def test_who_is_let_in_by_name(tmp_path: Path) -> None:
    """A Host and an Origin that were allowed come in, and reach the server as they are: its own
    check of them still has something to check. Ours become the server's.
    """
    options = ["--allow-host", "mcp.example", "--allow-origin", "https://app.example:8443"]
    async with fronts(tmp_path, *options) as three:
        named = [("Host", "mcp.example"), ("Origin", "https://app.example:8443"), JSON]
        for front in three.every:
            mine = f"127.0.0.1:{port_of(front)}"

            assert (await said(front, "POST", named)).status == 200
            for host, origin in (
                ("mcp.example.evil.example", "https://app.example:8443"),
                ("mcp.example", "https://app.example"),
                ("mcp.example", "http://app.example:8443"),
            ):
                fields = [("Host", host), ("Origin", origin), JSON]
                assert (await said(front, "POST", fields)).status in (403, 421)
            await said(front, "POST", [("Host", mine), ("Origin", f"http://{mine}"), JSON])
        assert three.let_in() == 2
    for server in three.servers:
        known = [(asked.header("host"), asked.header("origin")) for asked in server.asked]
        theirs = urlsplit(server.url).netloc
        assert known == [("mcp.example", "https://app.example:8443"), (theirs, f"http://{theirs}")]


async def test_refusals_tell_what_to_do(tmp_path: Path) -> None:
    """One line of text, which names the way out and does not repeat what would be markup."""
    async with fronts(tmp_path) as three:
        for front in three.every:
            host = ("Host", f"127.0.0.1:{port_of(front)}")
            wrong = await said(front, "GET", [("Host", "<b>evil.example")])
            page = await said(front, "GET", [host, ("Origin", "http://evil.example")])
            media = await said(front, "POST", [host])

            assert wrong.header("content-type") == "text/plain"
            assert [a.body.count(b"\n") for a in (wrong, page, media)] == [1, 1, 1]
            assert b"--allow-host" in wrong.body
            assert b"--allow-origin" in page.body
            assert b"application/json" in media.body


# Where we listen.


def listening_on(port: int) -> set[str]:
    """The addresses that this port is bound to, as `ss -ltn` shows them, in hex."""
    found = set()
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
            local, state = row.split()[1], row.split()[3]
            if state == "0A" and int(local.split(":")[1], 16) == port:
                found.add(local.split(":")[0])
    return found


@pytest.mark.parametrize(
    ("listen", "bound"),
    [("127.0.0.1:0", {"0100007F"}), ("[::1]:0", {"0" * 24 + "01000000"}), (":0", {"0100007F"})],
)
async def test_only_this_machine_reaches_us(tmp_path: Path, listen: str, bound: set[str]) -> None:
    """Unless told to, we listen on a loopback address and no other; the URL that is said works."""
    async with upstream(answers_all) as server:
        with recording(tmp_path / "a.jsonl", server.url, "--listen", listen) as recorder:
            found = listening_on(port_of(recorder))
            answer = await posts(recorder.url, PING)
    assert found == bound
    assert answer.status == 200


@pytest.mark.parametrize(
    "command",
    [
        ("record", "-o", "b.jsonl", "--url", "http://127.0.0.1:9/mcp"),
        ("proxy", "--url", "http://127.0.0.1:9/mcp"),
        ("replay", "a.jsonl"),
    ],
)
def test_others_reach_us_only_if_told_so(tmp_path: Path, command: tuple[str, ...]) -> None:
    """An address beyond loopback, and nothing more, is a usage error; nothing was begun."""
    (tmp_path / "a.jsonl").write_bytes(PLAYED)
    name, *rest = command
    outcome = subprocess.run(
        [*MCPMOCK, name, "--listen", "0.0.0.0:0", *rest],
        cwd=tmp_path,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert outcome.returncode == 2
    assert b"--dangerously-bind" in outcome.stderr
    assert b"listening" not in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


async def test_a_dangerous_address_takes_a_token(tmp_path: Path) -> None:
    """Beyond loopback nobody comes in without the token that is printed, in either of its places;
    it reaches neither the server nor the cassette, and what else the client sends does.
    """
    theirs = "Bearer theirs-theirs-theirs"
    tokens = []
    async with fronts(tmp_path, "--listen", "0.0.0.0:0", "--dangerously-bind") as three:
        for front in three.every:
            front.url = front.url.replace("0.0.0.0", "127.0.0.1")
            tokens.append(await printed(front))
            for wrong in ({}, {"authorization": theirs}, {"authorization": f"Basic {tokens[-1]}"}):
                refused = await posts(front.url, PING, **wrong)
                assert refused.status == 401
                assert (refused.header("www-authenticate") or "").startswith("Bearer")
        assert three.let_in() == 0
        for front, token in zip(three.every, tokens, strict=True):
            ours = {"authorization": f"Bearer {token}", "x_else": "kept"}
            both = {"authorization": theirs, "mcpmock_token": token}
            for right in (ours, both):
                assert (await posts(front.url, PING, **right)).status == 200
        assert three.let_in() == 2
    assert len(set(tokens)) == 3
    for server in three.servers:
        first, second = server.asked
        assert (first.header("x-else"), first.header("authorization")) == ("kept", None)
        assert (second.header("mcpmock-token"), second.header("authorization")) == (None, theirs)
    kept = three.cassette.read_bytes()
    assert [token for token in (*tokens, theirs) if token.encode() in kept] == []


async def printed(served: Served) -> str:
    """The token that a listener says on its second line."""
    with served.came:
        while not (found := re.search(r"Authorization: Bearer (\S+)", served.stderr)):
            assert served.came.wait(10)
    assert len(found[1]) >= 22  # 128 bits
    return found[1]


async def test_credentials_go_to_their_server_only(tmp_path: Path) -> None:
    """A redirect is the client's affair: it gets it as it is, nobody follows it, and what it sent
    reaches the server that it is meant for and no cassette.
    """

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.whole(status=307, location=other.url)

    secret = "hunter2hunter2hunter2"
    async with upstream(answers_all) as other, upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            answer = await posts(recorder.url, PING, authorization=f"Bearer {secret}")

    assert (answer.status, answer.header("location")) == (307, other.url)
    assert [asked.header("authorization") for asked in server.asked] == [f"Bearer {secret}"]
    assert other.asked == []
    assert secret.encode() not in (tmp_path / "a.jsonl").read_bytes()
