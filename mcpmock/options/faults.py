"""Which faults are injected."""

from pathlib import Path

from .option import OptionTable, option


class FaultOptions(OptionTable):
    """A plan, single faults, and the seed of all their decisions."""

    faults: Path | None = option(
        None, "Inject the faults described in this TOML plan.", metavar="PLAN"
    )
    fault: tuple[str, ...] = option(
        (),
        "Add one fault (repeatable): 'latency:latency=200ms,tool=get_*'.",
        metavar="KIND:KEY=VALUE,..",
    )
    seed: int | None = option(None, "Random seed for all fault decisions.", metavar="N")

    @property
    def given(self) -> bool:
        return self.faults is not None or bool(self.fault)
