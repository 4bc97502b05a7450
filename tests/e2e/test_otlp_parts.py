"""Traces in OpenTelemetry's format, read by its own schema."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.convert.otlp import traces

from .parts import PARTS, not_installed

pytestmark = [
    pytest.mark.parts,
    pytest.mark.skipif(not_installed("batch", "x") is not None, reason="run e2e_parts.sh batch"),
]

SHIPPED = Path(__file__).parents[2] / "cassettes"
READER = """
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}

def from_hex(value):
    # The one place where the JSON of OTLP is not that of protocol buffers.
    if isinstance(value, list):
        return [from_hex(one) for one in value]
    if not isinstance(value, dict):
        return value
    for name in IDS.keys() & value.keys():
        raw = bytes.fromhex(value[name])
        assert len(raw) == IDS[name] and any(raw) and value[name].islower() | value[name].isdigit()
        value[name] = base64.b64encode(raw).decode()
    return {name: from_hex(one) for name, one in value.items()}

spans = []
for line in sys.stdin.buffer:
    data = json_format.ParseDict(from_hex(json.loads(line)), TracesData())
    for resource in data.resource_spans:
        assert [one.key for one in resource.resource.attributes] == ["service.name"]
        spans += [span for scope in resource.scope_spans for span in scope.spans]
assert {span.kind for span in spans} == {Span.SPAN_KIND_CLIENT}
assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
ids = {span.span_id for span in spans}
assert len(ids) == len(spans)
assert all(span.parent_span_id in ids for span in spans if span.parent_span_id)
print(len(spans), sum(span.status.code == Status.STATUS_CODE_ERROR for span in spans))
"""


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_span_fits_the_schema(path: Path) -> None:
    """Unknown members would be refused."""
    made = traces(load(path))
    python = PARTS / "batch" / "bin" / "python"
    read = subprocess.run([python, "-c", READER], input=made.data, stdout=-1, check=True)
    spans, errors = map(int, read.stdout.split())

    assert made.spans == spans > errors
