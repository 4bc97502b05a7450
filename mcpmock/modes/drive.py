"""`drive`: the client's half of a cassette against a real server, and `verify`: the same, held
against what was recorded.

Each recorded session is driven in turn, with a server of its own: a process is started anew, at a
URL another session is opened. What is recorded of it is a take for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import trio

from mcpmock.cassette.bare import bare
from mcpmock.cassette.model import Cassette, Header, Take
from mcpmock.cassette.part import Part, part_of
from mcpmock.cassette.read import read
from mcpmock.cassette.redact import Redactor
from mcpmock.endpoints.channel import memory_pair
from mcpmock.pipeline.driver import Driver, Tell
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.recorder import Ledger, Recorder
from mcpmock.pipeline.timing import Timing
from mcpmock.runner import Session, run
from mcpmock.transports.reception import Kind

from .ends import Command, Server, numbers
from .stopping import taking_signals
from .taking import Recording, Say, open_taking
