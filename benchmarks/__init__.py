"""What is measured: the seven targets of the design, T1 to T7, one module each.

    python -m benchmarks            all of them, five to ten minutes
    python -m benchmarks T2 T3      some
    python -m benchmarks --list     what they are; measures nothing

How to read what it prints. A line is one figure: its median, the quartiles behind it in brackets, how many
samples, and where there is a target, the target and whether the median meets it. Absolute times are this
machine's, at this moment; the load average stands above each target. What can be compared between machines
and days are the ratios: both sides are measured in one run, in turn (A B A B), so a busy neighbour slows
both. A missed target is something to look at, not a failure: the exit status is 0 unless a measurement
itself failed. Nothing here is a test.

Everything is bounded in time and number, talks to loopback alone, and ends only what it started itself. The
traced programs are in `programs/`; S1 to S5 are those of the tests. T6 and T7 need a Chromium (`CHROMIUM`,
or as `make browser` finds it) and a built front end.
"""
