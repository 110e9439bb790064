"""Runs the attacks in every place that this machine offers, and prints the matrix: `make attacks`.

python -m tests.attacks [PLACE…] [--only ID,ID]
"""

import argparse
import asyncio
import sys

from .campaign import Report, campaign
from .items import attacks
from .places import Place, standing

PLACES = (
    Place("root", "root", "strict"),
    Place("root, a uid per slot", "own uid", "strict"),
    Place("nobody", "nobody", "strict"),
    Place("ordinary user", "own", "strict"),
    Place("root + bubblewrap", "root", "strict+bwrap"),
    Place("root, a uid per slot + bubblewrap", "own uid", "strict+bwrap"),
    Place("nobody + bubblewrap", "nobody", "strict+bwrap"),
    Place("ordinary user + bubblewrap", "own", "strict+bwrap"),
    Place("root, sealed", "root", "sealed"),
    Place("nobody, sealed", "nobody", "sealed"),
    Place("ordinary user, sealed", "own", "sealed"),
    Place("nobody, compared runs", "nobody", "strict", compare=True),
    Place("nobody, Landlock of Linux 5.13", "nobody", "strict", weakness="Landlock ABI 1: "),
)


def main() -> int:
    """Run and print; the status says whether all was contained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("places", nargs="*", help="names of places; default: all")
    parser.add_argument("--only", help="ids of attacks, separated by commas")
    options = parser.parse_args()
    chosen = [each for each in attacks() if not options.only or each.id in options.only.split(",")]
    wrong = 0
    for place in PLACES:
        if options.places and place.name not in options.places:
            continue
        reason = place.missing()
        if reason is not None:
            print(f"{place.name:36} not run: {reason}", flush=True)
            continue
        with standing(place) as server:
            layers = server.health()["sandbox"]
            report = asyncio.run(campaign(server, chosen))
        wrong += len(report.wrong)
        print(f"{place.name:36} {_line(report)}  [{layers['profile']}]", flush=True)
        for who, what in report.wrong.items():
            print(f"    {who}: {'; '.join(what)[:600]}", flush=True)
    return 1 if wrong else 0


def _line(report: Report) -> str:
    ends = ", ".join(f"{count} {end}" for end, count in sorted(report.ends.items()))
    return (
        f"{report.ran} attacks, {len(report.wrong)} wrong, slowest {report.slowest_s:.2f} s, "
        f"{report.took_s:.0f} s ({ends})"
    )


if __name__ == "__main__":
    sys.exit(main())
