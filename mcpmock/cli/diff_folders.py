"""The report of `mcpmock diff` on two folders: that of each pair of files, and a summary."""

from __future__ import annotations

from collections import Counter

import attrs
import click

from mcpmock.printable import printable
from mcpmock.semantic_diff.compare import Diff, Verdict

from .diff_formats import MAX_MARKDOWN_ROWS, case_of, fails, markdown, object_of, text
from .junit import JunitCase, junit_report
from .output import emit, encodable, many


@attrs.define
class FolderReport:
    """Prints the comparison of each pair as it comes, and in the end how many differ."""

    form: str
    fail_on: str
    quiet: bool
    verbose: bool
    files: int = 0
    differing: int = 0
    counts: Counter[Verdict] = attrs.field(factory=Counter)
    _cases: list[JunitCase] = attrs.field(factory=list)
    _rows: int = 0
    """How many rows the tables in Markdown have."""

    @property
    def worst(self) -> Verdict | None:
        return max(self.counts, default=None)

    def add(self, name: str, comparison: Diff) -> int:
        """Prints the comparison of the files of this name. Returns the exit status."""
        failed = fails(comparison.worst, self.fail_on)
        self.files += 1
        self.differing += bool(comparison)
        self.counts.update(comparison.counts)
        match self.form:
            case "json":
                emit(object_of(comparison))
            case "junit":
                self._cases.append(case_of(name, comparison.differences, self.fail_on))
            case "markdown":
                if comparison and self._rows < MAX_MARKDOWN_ROWS:
                    click.echo(markdown(comparison, verbose=self.verbose) + "\n")
                    self._rows += len(comparison.differences)
            case _:
                if failed or (comparison and not self.quiet):
                    for line in text(comparison, verbose=self.verbose):
                        click.echo(line)
                    click.echo()
        return int(failed)

    def end(self, old: str, new: str) -> None:
        """Prints the summary."""
        if self.form == "json":
            emit(
                {
                    "type": "diff-folders",
                    "verdict": "same" if self.worst is None else self.worst.word,
                    "a": encodable(old),
                    "b": encodable(new),
                    "files": self.files,
                    "differing": self.differing,
                    "counts": {v.word: self.counts[v] for v in sorted(Verdict, reverse=True)},
                }
            )
        elif self.form == "junit":
            click.echo(junit_report("mcpmock diff", "mcpmock.diff", self._cases))
        elif fails(self.worst, self.fail_on) or not self.quiet:
            click.echo(f"{printable(old)} -> {printable(new)}: {self._summary()}")

    def _summary(self) -> str:
        files = many(self.files, "file")
        if self.worst is None:
            return f"no differences in {files}"
        counts = [f"{self.counts[v]} {v.word}" for v in sorted(self.counts, reverse=True)]
        return f"{', '.join(counts)}, in {self.differing} of {files}"
