"""The loader's promises: any prefix loads, broken is not empty, and nothing but data is read."""

from __future__ import annotations

import hashlib
import pickle
import random

import pytest

from mcpmock.cassette.model import Cassette, Notice, event_line
from mcpmock.cassette.parser import CassetteReader, read, unreadable
from mcpmock.protocol.messages import C2S
from tests.support import HEADER, INITIALIZE, c2s, exits, hangs_up, logs, request, response, s2c

EVENTS = [
    event_line(n, n * 1000, frame)
    for n, frame in enumerate(
        [
            c2s(INITIALIZE),
            s2c(response(0)),
            logs("x\n"),
            s2c(b"banner {"),
            s2c(b"\xff"),
            c2s(b"", b"\r\n"),
            c2s(request("mcpmock", "x", {"mcpmock": 1})),
            hangs_up(C2S),
            exits(0),
        ],
        1,
    )
]


def sealed(*lines: bytes, header: bytes = HEADER) -> bytes:
    body = header + b"".join(lines)
    digest = hashlib.sha256(body).hexdigest().encode()
    return body + b'{"footer":{"events":%d,"sha256":"%b","redacted":0,"gaps":0}}\n' % (
        len(lines),
        digest,
    )


TAKE = sealed(*EVENTS)
TORN = [
    EVENTS[1][:25],
    EVENTS[1][:-1],
    EVENTS[1][:1],
    HEADER[:11],
    HEADER[:40],
    HEADER[:-2],
    b'{"footer":{"eve',
    b'{"footer":{"events":1}',
    b"\x00" * 50,
    b'{"n":1,"t":0,"d":"c2s","m":{"mcpmock":1,"x',
    b"\xff",
]


def shape(loaded: Cassette) -> list[int]:
    return [len(take.events) for take in loaded.takes]


def test_a_clean_take() -> None:
    """A take that was closed loads whole, sealed, and without a word."""
    loaded = read("a.jsonl", TAKE)

    assert ([9], [], []) == (shape(loaded), loaded.notices, loaded.damage)
    assert True is loaded.takes[0].sealed


@pytest.mark.parametrize(
    "first", [TAKE, HEADER + EVENTS[0] + EVENTS[1][:20] + b"\n"], ids=["clean", "torn"]
)
def test_any_prefix_loads(first: bytes) -> None:
    """Cut at every byte, a cassette of two takes loads up to the cut, without damage."""
    data = first + TAKE
    for cut in range(len(data) + 1):
        loaded = read("a.jsonl", data[:cut])
        whole = data[:cut].rpartition(b"\n")[0]
        events = sum(line + b"\n" in EVENTS for line in whole.split(b"\n"))

        assert (cut, []) == (cut, loaded.damage)
        assert (cut, events) == (cut, sum(shape(loaded)))


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n"])
def test_no_bytes_are_no_takes(data: bytes) -> None:
    """An empty file is the shortest prefix: a cassette of nothing; so is one of empty lines."""
    empty = Notice(0, "is empty: it holds no recording")
    assert Cassette(name="a.jsonl", takes=[], notices=[empty]) == read("a.jsonl", data)


def test_a_torn_tail_is_told() -> None:
    """A last line without its line break is dropped, with a notice of its line."""
    loaded = read("a.jsonl", HEADER + EVENTS[0] + EVENTS[1][:-1])

    assert [1] == shape(loaded)
    assert 3 in [notice.line for notice in loaded.notices]


@pytest.mark.parametrize("torn", TORN)
def test_a_last_line_that_is_not_json_is_dropped(torn: bytes) -> None:
    """A last line that is no JSON is dropped and told, whether its line break is there or not."""
    for end in (b"", b"\n"):
        loaded = read("a.jsonl", HEADER + EVENTS[0] + torn + end)

        if torn != EVENTS[1][:-1] or not end:
            assert ([1], []) == (shape(loaded), loaded.damage)
            assert 3 in [notice.line for notice in loaded.notices]


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_line_before_a_header(torn: bytes) -> None:
    """A torn line directly before a header is the torn tail of the take before it."""
    if torn == EVENTS[1][:-1]:
        return  # with its line break this one is whole
    loaded = read("a.jsonl", HEADER + EVENTS[0] + torn + b"\n" + TAKE)

    assert ([1, 9], []) == (shape(loaded), loaded.damage)
    assert True is loaded.takes[1].sealed


@pytest.mark.parametrize("torn", TORN)
def test_a_header_glued_to_a_torn_line(torn: bytes) -> None:
    """`cat` of torn files glues a header to a torn line: the loader splits them."""
    loaded = read("a.jsonl", HEADER + EVENTS[0] + torn + TAKE)

    assert ([1, 9], []) == (shape(loaded), loaded.damage)
    assert True is loaded.takes[1].sealed


def test_concatenated_cassettes() -> None:
    """Cassettes put one after the other are one cassette of all their takes."""
    loaded = read("a.jsonl", TAKE + TAKE + sealed(EVENTS[0]))

    assert ([9, 9, 1], [], []) == (shape(loaded), loaded.notices, loaded.damage)
    assert [1, 12, 23] == [take.line for take in loaded.takes]


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"{}\n",
        b'{"n":1,"t":0,"d":"c2s"}\n',
        b'{"n":1,"m":{},"text":""}\n',
        b"[]\n",
        b"5\n",
        b'{"n":"1","t":0,"d":"c2s","m":{}}\n',
        b'{"t":0,"d":"c2s","m":{}}\n',
        b'{"n":1,"d":"up","m":{}}\n',
        EVENTS[1][:20] + b"\n",
        b"\xff\n",
        b"\x00\x00\n",
        b'{"n":1,"d":"s2c","b64":"%%%"}\n',
        b'{"n":1,"stderr":"x","raw":"*"}\n',
        b'{"n":1,"x":1,"d":"c2s","http":{}}\n',
        pickle.dumps([1]) + b"\n",
        b"!!python/object:os.system\n",
        b"[" * 5000 + b"]" * 5000 + b"\n",
    ],
)
def test_damage_in_the_middle(line: bytes) -> None:
    """A line in the middle that is no event is damage, with its line, and the rest is there."""
    loaded = read("a.jsonl", HEADER + EVENTS[0] + line + EVENTS[1] + EVENTS[2])

    assert [3] == shape(loaded)
    assert [3] == [damage.line for damage in loaded.damage]
    assert "" != loaded.damage[0].reason


def test_all_damage_is_told() -> None:
    """Each damaged line is told, not only the first."""
    loaded = read("a.jsonl", HEADER + b"x\n" + EVENTS[0] + b"y\n" + EVENTS[1])

    assert [2, 4] == [damage.line for damage in loaded.damage]


@pytest.mark.parametrize(
    "data",
    [
        EVENTS[0] + HEADER,
        TAKE + EVENTS[0] + HEADER,
        b'{"footer":{"events":0,"sha256":""}}\n' + HEADER,
    ],
    ids=["before any header", "after a footer", "footer first"],
)
def test_events_outside_of_takes(data: bytes) -> None:
    """An event or a footer that belongs to no take is damage."""
    assert 1 == len(read("a.jsonl", data).damage)


def test_blank_lines_are_nothing() -> None:
    """Blank lines that an editor left are no events and no damage."""
    loaded = read("a.jsonl", HEADER + b"\n" + EVENTS[0] + b"  \n" + EVENTS[1])

    assert ([2], []) == (shape(loaded), loaded.damage)


def test_unknown_keys() -> None:
    """Keys of a later minor format stop nothing, in headers, events and footers."""
    header = HEADER.replace(b'"tool"', b'"later":{"a":[1]},"tool"')
    event = EVENTS[0].replace(b'"d":', b'"later":[{}],"d":')
    loaded = read("a.jsonl", sealed(event, header=header).replace(b'"gaps"', b'"later":1,"gaps"'))

    assert ([1], []) == (shape(loaded), loaded.damage)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        (HEADER[:-1], False),
        (b"", False),
        (HEADER[:5], False),
        (HEADER[:11], False),
        (b'{"mcpmock":2,"tool":"x"}', True),
        (b'{"mcpmock":2}', True),
        (b'{"mcpmock":99999999999}', True),
        (b'{"mcpmock": 2}', True),
        (b'{"mcpmock":0}', True),
        (b"hello", True),
        (b"{}", True),
        (b"[]", True),
        (EVENTS[0][:-1], True),
        (b'{"version":1,"interactions":[]}', True),
    ],
)
def test_what_is_no_cassette_of_ours_is_refused(line: bytes, refused: bool) -> None:
    """A first line is ours, or the beginning of one of ours, or the file is refused with the
    reason.
    """
    assert refused is (unreadable(line) is not None)


def test_an_unknown_major_names_the_way_out() -> None:
    """A cassette of a later format is refused with both versions and what helps."""
    assert "has format 2, this mcpmock reads 1; a newer mcpmock reads it" == unreadable(
        b'{"mcpmock":2}'
    )


def test_an_unknown_major_in_a_later_take() -> None:
    """A take of a later format behind one of ours is not read as if it were ours."""
    loaded = read("a.jsonl", TAKE + HEADER.replace(b":1,", b":2,", 1) + EVENTS[0])

    assert 1 == len(loaded.damage)
    assert 12 == loaded.damage[0].line


@pytest.mark.parametrize(
    "edit",
    [(b"initialize", b"initialise"), (b'"t":1000', b'"t":1001'), (b'":"tests"', b'":"tesTs"')],
)
def test_an_edited_take_is_told_and_usable(edit: tuple[bytes, bytes]) -> None:
    """A cassette edited by hand loads, with a notice that its digest does not fit."""
    loaded = read("a.jsonl", TAKE.replace(*edit))

    assert ([9], []) == (shape(loaded), loaded.damage)
    assert False is loaded.takes[0].sealed
    assert [11] == [notice.line for notice in loaded.notices]


def test_without_a_footer() -> None:
    """A take whose recorder was killed loads as incomplete, with a notice of its header's line."""
    loaded = read("a.jsonl", HEADER + EVENTS[0])

    assert None is loaded.takes[0].sealed
    assert [(1, True)] == [(n.line, n.text.startswith("incomplete")) for n in loaded.notices]


def test_deep_messages_are_ordinary() -> None:
    """A message nested deeper than any parser goes is read like another."""
    deep = b'{"id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    loaded = read("a.jsonl", HEADER + b'{"n":1,"t":0,"d":"s2c","m":%b}\n' % deep + EVENTS[1])

    assert ([2], []) == (shape(loaded), loaded.damage)
    assert deep == loaded.takes[0].events[0].payload


def test_mutants_never_fail() -> None:
    """A cassette with random bytes changed, lost or doubled loads into values that can all be
    looked at.
    """
    for seed in range(30):
        print("seed", seed)
        dice = random.Random(seed)
        for _ in range(20):
            data = bytearray(TAKE)
            for _ in range(dice.randrange(1, 5)):
                at = dice.randrange(len(data))
                data[at : at + dice.randrange(3)] = bytes(
                    dice.randrange(256) for _ in range(dice.randrange(3))
                )
            loaded = read("a.jsonl", bytes(data))
            for event in (event for one in loaded.episodes() for event in one.events):
                _ = event.frame


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        *TORN,
        TAKE,
        EVENTS[0].replace(b'"n":1', b'"n" : 1'),
        EVENTS[0][:-1] + b" " + EVENTS[1] + EVENTS[2].replace(b",", b",\n", 1),
        EVENTS[0][:-1] + EVENTS[1] + b'{"n":1,"d":"c2s","m":{}\n,"t":1}\n',
        b'{"n":1,"d":"c2s","m":{}}\r\n',
        b'{"n":1,"d":"c2s","text":"}\n{"}\n',
        b'{"n":1,"d":"c2s","text":"\xff"}\n',
        b'{"n":1,"m":{}}\n',
        b'{"n":1,"d":"c2s","b64":"?"}\n',
        b'{"n":1,"d":"c2s","m":%b}\n' % (b"[" * 5000 + b"]" * 5000),
        b'{"n":1,"d":"c2s","m":{"x":"%b"}}\n' % (b"x" * 100_000),
    ],
)
def test_events_read_together_are_those_of_single_lines(odd: bytes) -> None:
    """Whatever stands among the events, they are read as line by line."""
    whole = EVENTS * 400
    data = HEADER + b"".join([*whole[:1500], odd, b"\n", *whole[1500:], TAKE])
    one_by_one = CassetteReader(Cassette(name="a.jsonl", takes=[]))
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        one_by_one.line(number, line)
    one_by_one.finish()

    assert one_by_one.cassette == read("a.jsonl", data)
