"""`python -m tests.oracle [PROFILE …] [--only WORD] [--json]`: the walk, its counts, every exclusion.

Without a profile all of them. Exits with 1 when a trace lied, watching changed what no line of the table
excuses, or a line of the table is no longer needed.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections import defaultdict

from .comparing import Count
from .exclusions import FORWARD, LONGER, NOT_ON_THE_CPU, Exclusion, excused
from .samples import PROFILES, database, name_of
from .walking import Result, walk


@dataclasses.dataclass
class Report:
    """What a walk under one profile found."""

    profile: str
    entries: int = 0
    """Entries that had calls."""
    count: Count = dataclasses.field(default_factory=Count)
    faults: list[str] = dataclasses.field(default_factory=list)
    """What makes the oracle fail."""
    without: set[str] = dataclasses.field(default_factory=set)
    """Entries without a call that ran."""
    used: dict[Exclusion, set[str]] = dataclasses.field(default_factory=lambda: defaultdict(set))
    """Exclusion → the entries that needed it."""

    def add(self, result: Result) -> None:
        """Judge an entry."""
        name = result.name
        self.count.add(result.count)
        if result.samples and not result.raised:
            self.entries += 1
        else:
            self.without.add(name)
        if result.broken:
            self.faults.append(f"{name}: {result.broken[-1500:]}")
        if result.raised and name not in NOT_ON_THE_CPU:
            self.faults.append(f"{name}: the program ended with {result.raised}")
        seen = set()
        for label, (kind, text) in result.lies:
            if kind not in seen:
                self.faults.append(f"{name}, sample {label}: told a lie, {kind}: {text}")
            seen.add(kind)
        causes = dict(result.excuses())
        for label, (kind, text) in result.changed:
            line = excused(self.profile, name, kind, causes[kind])
            if line is not None:
                self.used[line].add(name)
            elif (kind, "watching") not in seen:
                self.faults.append(f"{name}, sample {label}: {kind} ({causes[kind]}): {text}")
                seen.add((kind, "watching"))

    def check_table(self) -> None:
        """A line that no entry needed has to go."""
        for line in (*FORWARD, *LONGER):
            if line.profile != self.profile:
                continue
            unneeded = line.entries - self.used[line] if line.entries else not self.used[line]
            if unneeded:
                what = sorted(unneeded) if line.entries else "all of it"
                self.faults.append(f"no longer needed: {line.kind} ({line.cause}), {what}")

    def print(self, seconds: float) -> None:
        """For a person."""
        c = self.count
        print(f"\n{self.profile}: {self.entries} entries, {c.calls:,} calls, {seconds:.0f} s")
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(c.kinds.items()))
        print(f"  {c.ops:,} aten ops, {c.verdicts:,} verdicts ({kinds}), {c.apis:,} API calls without an op")
        print(
            f"  {c.tensors:,} tensors in states: {c.facts:,} facts, {c.values:,} values, {c.changes:,} names"
        )
        for line, names in self.used.items():
            if names:
                print(f"  excluded: {line.kind} of {len(names)}, {line.cause}: {line.reason}")
                print(f"    {' '.join(sorted(names))}")
        if self.profile == "forward":
            for name in sorted(self.without):
                print(f"  without a sample here: {name}: {NOT_ON_THE_CPU.get(name, '?')}")
        for fault in self.faults:
            print(f"  FAULT {fault}")


def walked(profile: str, only: str | None) -> Report:
    """Walk the database under a profile."""
    report = Report(profile)
    for result in walk([i for i in database() if only is None or only in name_of(i)], profile):
        report.add(result)
    if only is None:
        report.check_table()
    return report


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("profiles", nargs="*", choices=[*PROFILES, []], help="default: all")
    parser.add_argument("--only", help="entries with this word in their name")
    parser.add_argument(
        "--json", action="store_true", help="faults, counts and entries as JSON, for the tests"
    )
    options = parser.parse_args()
    faults = 0
    for profile in options.profiles or PROFILES:
        began = time.monotonic()
        report = walked(profile, options.only)
        faults += len(report.faults)
        if options.json:
            facts = {
                "faults": report.faults,
                "entries": report.entries,
                "without": sorted(report.without),
                "count": dataclasses.asdict(report.count),
            }
            print(json.dumps(facts))
        else:
            report.print(time.monotonic() - began)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
