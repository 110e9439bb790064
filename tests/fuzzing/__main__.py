"""Runs thousands of random programs and writes those that break something: `make fuzz`.

python -m tests.fuzzing [--count N] [--seed N] [--kinds grammar,edits,noise]
"""

import argparse
import random
import sys
import time
from pathlib import Path

from .running import KINDS, each_program, fuzzer

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"


def main() -> int:
    """Run and print; the status says whether nothing broke."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000, help="programs of each sort")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="where chance begins")
    parser.add_argument("--kinds", default=",".join(KINDS), help="sorts of programs, separated by commas")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with fuzzer() as fuzz:
        seen: set[str] = set()

        def visit(source: str) -> None:
            try:
                found = fuzz.faults(source)
            except Exception as e:  # an oracle raised: that is what is looked for
                found = [f"raised {e!r}"]
            if not found:
                return
            fuzz.report.wrong.append((source, found))
            path = FOLDER / f"{options.seed}-{fuzz.report.ran}.py"
            path.write_text(source + "".join(f"\n# {fault!r}" for fault in found), encoding="utf-8")
            for fault in set(found) - seen:
                print(f"{path}: {fault[:300]}", flush=True)
            seen.update(found)

        for kind in options.kinds.split(","):
            began, before = time.perf_counter(), fuzz.report.ran
            each_program(kind, options.count, visit, options.seed)
            ran = fuzz.report.ran - before
            print(f"{kind}: {ran} programs in {time.perf_counter() - began:.0f} s", flush=True)
    report = fuzz.report
    ends = ", ".join(f"{count} {end}" for end, count in report.ends.most_common())
    compared = ", ".join(f"{count} {state}" for state, count in report.compared.most_common())
    print(f"seed {options.seed}: {report.ran} programs ({ends}); compared: {compared}; slowest "
          f"{report.slowest_s:.1f} s; {len(report.wrong)} broke something")  # fmt: skip
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
