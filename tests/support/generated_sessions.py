"""Generated sessions that differ from their recording, to see what their misses propose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.options.option import replace
from mcpmock.options.replay import ReplayOptions
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.miss import Miss, ProposedOption
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer

from . import Line, c, c2s, cassette, dump, request, response, s

Asked = tuple[str, dict[str, Any]]
"""A method and its params."""
_OURS = "io.modelcontextprotocol/"
_NAMES = ("find", "a *tool's", "läs", "x[1]")
_WORDS = ("red cars", "big hotels", "cheap flights", "", "=", "$.a", "'\"", "cafe\u0301", "\x1b[2J")
_HOLES = ("mcpmock:secret:token:1", "Bearer mcpmock:secret:token:2")


def _value(random: Random, depth: int = 0) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: random.choice(_WORDS),
        lambda: random.randrange(5),
        lambda: random.choice([None, True, {}, [], 1.5]),
        lambda: f"{random.getrandbits(128):032x}",
        lambda: f"2026-0{random.randrange(1, 9)}-1{random.randrange(9)}T10:00:00Z",
        lambda: f"/tmp/{random.getrandbits(32):x}",
        lambda: f"https://example.com/{random.randrange(9)}",
        lambda: [_value(random, depth + 1) for _ in range(random.randrange(3))],
        lambda: {name: _value(random, depth + 1) for name in random.sample("abc", 2)},
    ]
    return random.choice(makers[: 7 if depth > 1 else None])()


def _arguments(random: Random) -> dict[str, Any]:
    names = ["q", "id", "at", "a b", "c'd\"e", "=", "\x1b", "_meta"]
    return {name: _value(random) for name in random.sample(names, random.randrange(4))}


def _meta(random: Random, client: int) -> dict[str, Any]:
    """What a client says of itself, and of each call."""
    kinds: list[dict[str, Any]] = [
        {},
        {"progressToken": random.randrange(99)},
        {"claudecode/toolUseId": f"toolu_{random.getrandbits(32):x}", "thread": client},
        {_OURS + "clientCapabilities": {"roots": {}} if client else {}},
    ]
    return kinds[random.randrange(len(kinds))]


def _request(random: Random, client: int) -> Asked:
    method = random.choice(["tools/call"] * 6 + ["prompts/get", "resources/read", "odd/method"])
    params: dict[str, Any] = {"arguments": _arguments(random)}
    if method == "resources/read":
        params = {"uri": f"file:///{random.randrange(3)}"}
    elif method == "odd/method":
        params = _arguments(random)
        params.pop("_meta", None)
    else:
        params["name"] = random.choice(_NAMES)
    meta = _meta(random, client)
    return method, {**params, "_meta": meta} if meta else params


def _with_hole(random: Random, asked: Asked) -> Asked:
    """The same request as redaction may leave it."""
    method, params = asked
    arguments = params.get("arguments")
    if not isinstance(arguments, dict) or random.random() < 0.8:
        return asked
    texts = [name for name, value in arguments.items() if isinstance(value, str)]
    holes = {name: random.choice(_HOLES) for name in texts[:1]}
    return method, {**params, "arguments": {**arguments, **holes}}


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a value but its own."""
    items: Iterable[Any] = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    return [one for k, v in items for one in ((*place, k), *_places(v, (*place, k)))]


def _changed(random: Random, asked: Asked) -> tuple[Asked, int]:
    """The same request with some places changed, and how many."""
    method, params = deepcopy(asked)
    count = 0
    for _ in range(random.choice([0, 0, 1, 1, 2, 3])):
        places = [one for one in _places(params) if one[0] not in ("name", "_meta")]
        if not places:
            break
        *way, last = random.choice(places)
        inside = params
        for step in way:
            inside = inside[step]
        if isinstance(inside, dict) and random.random() < 0.2 and last not in ("arguments", "uri"):
            del inside[last]
        else:
            inside[last] = {} if last == "arguments" else _value(random)
        count += 1
    return (method, params), count


@attrs.frozen
class GeneratedSession:
    """A recording, live sessions that differ from it, and how it is replayed."""

    recorded: Cassette
    live: Sequence[tuple[int, Asked]]
    """The requests, each with the number of its client."""
    options: ReplayOptions
    most_rounds: int
    """In how many places it differs, repeated and moved calls included."""


def generate_session(random: Random) -> GeneratedSession:
    """One or two clients record; one or two come again with other values, more often or in another
    order, under some options and rules.
    """
    asked = [_request(random, 0) for _ in range(random.randrange(1, random.choice([4, 6, 12])))]
    takes = [[_with_hole(random, one) for one in asked]]
    if random.random() < 0.3:
        takes.append([_changed(random, one)[0] for one in asked])
    lines: list[Line] = []
    for number, take in enumerate(takes):
        lines += [("take", None)] if number else []
        for n, (method, params) in enumerate(take):
            lines += [c(request(n, method, params)), s(response(n, {"said": [number, n]}))]
    live: list[tuple[int, Asked]] = []
    rounds = 0
    for client in random.choice([[0], [1], [0, 1]]):
        for one in random.choice([asked, takes[-1]]):
            (method, params), count = _changed(random, one)
            meta = _meta(random, client)
            params = {k: v for k, v in params.items() if k != "_meta"}
            params |= {"_meta": meta} if meta else {}
            copies = random.choice([1, 1, 1, 2])
            live += [(client, (method, params))] * copies
            rounds += copies * (count + 1) + copies
    if random.random() < 0.3:
        random.shuffle(live)
        rounds += len(live)
    if random.random() < 0.2 and len(live) > 1:
        live.pop(random.randrange(len(live)))
    given = random.random() < 0.4
    options = ReplayOptions(
        order=random.choice(["causal", "causal", "causal", "strict", "any"]),
        repeats=random.choice(["auto", "auto", "error", "last", "cycle"]),
        match=random.choice(["relaxed", "relaxed", "exact", "tool"]),
        ignore=tuple(
            random.sample(["$.arguments.q", "tools/call find $.arguments", "$.uri"], given)
        ),
        like=tuple(random.sample(["$.arguments.id=uuid", "$..a=number", "$..b=unordered"], given)),
        echo=tuple(random.sample(["$.arguments.q", "$.arguments.id=uuid"], random.random() < 0.2)),
        sessions=random.choice(["reuse", "reuse", "reuse", "once"]),
    )
    return GeneratedSession(cassette(*lines), live, options, rounds)


@attrs.frozen
class Outcome:
    """What a live session heard: for each request what answered it, None for a miss."""

    said: tuple[Any, ...]
    misses: tuple[Miss, ...]


def play_session(session: GeneratedSession, added: Sequence[ProposedOption] = ()) -> Outcome:
    """Play a session under its options, and those that were proposed."""
    lists = {name: list(getattr(session.options, name)) for name in ("ignore", "like")}
    single: dict[str, Any] = {}
    for option, value in added:
        if option in lists:
            lists[option].append(value)
        else:
            single[option] = value
    options = replace(
        session.options, ignore=tuple(lists["ignore"]), like=tuple(lists["like"]), **single
    )
    told: list[Miss | PlayerNote] = []
    selection = SessionSelection(session.recorded, PlayerOptions.of(options, notes=False))
    pipelines: dict[int, Pipeline] = {}
    said: list[Any] = []
    now = 0.0
    for n, (client, (method, params)) in enumerate(session.live):
        now += 1.0
        if client not in pipelines:
            pipelines[client] = Pipeline([SessionPlayer(selection, told.append)])
            pipelines[client].begin(now)
        pipeline = pipelines[client]
        out = [*pipeline.enter([c2s(request(n, method, params))], now)]
        while (due := pipeline.next_due) is not None:
            now = max(now, due)
            out += pipeline.advance(now)
        answers = [json.loads(one.raw) for batch in out for one in batch if not one.fact]
        [answer] = [one for one in answers if one.get("id") == n]
        said.append(dump(answer["result"]) if "result" in answer else None)
    return Outcome(tuple(said), tuple(one for one in told if isinstance(one, Miss)))


def broken_promise(session: GeneratedSession) -> str | None:
    """Return what the proposals of a session's misses do not keep; None if they keep all."""
    added: dict[ProposedOption, None] = {}
    for rounds in range(session.most_rounds + 1):
        found = play_session(session, [*added])
        if not found.misses:
            return None
        for miss in found.misses:
            if not miss.allow:
                return f"round {rounds}: nothing is proposed: {miss.sentence}"
            if set(miss.allow) <= added.keys():
                return f"round {rounds}: proposed again: {miss.sentence}"
            again = play_session(session, [*added, *miss.allow])
            if again.said == found.said:
                return f"round {rounds}: nothing changes: {miss.sentence}"
        for miss in found.misses:
            added |= dict.fromkeys(miss.allow)
    return f"not green after {session.most_rounds} rounds: {found.misses[0].sentence}"
