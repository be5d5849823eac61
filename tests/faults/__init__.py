"""What the lake promises, held against faults: interleavings, crash points, random histories.

`make test` runs a share of it, `make faults` the whole, which also writes what it counted into
docs/reliability.md, and also runs what tests/spark/test_cluster.py has left to it. Each suite has
controls: broken variants that it must report.

To add a suite: write a test module here, scale it with `scale.scaled(share, whole)`, and let each
line of the table that it stands for end with `result.Line(…).keep()`. Give it controls, and tell of
each by `Line.control(seen)`. Say in `report.SUITES` how much of it a whole run has: the page is
written from nothing less, and of one run only. What cannot run fails in a whole run, and in CI
where CI's machines can run it: `scale.unable` says so, and nothing else may skip.

    scale            how much to run
    result, report   what was counted, and the table of it
    world            the product's code without real time, threads and chance
    process          simulated processes, which stop at every request to the store
    fault            what can go wrong with a request
    work             what processes do: land, vacuum, purge, rebuild, fix, read
    exploration      all schedules of a few processes
    crash_point      one fault at one request, in a schedule from a seed
    ground           the lakes to begin with
    projection       projecting without Spark
    history          random histories, beside a reference
    truth            what was promised, and whether the lake keeps it
    variant          the controls
"""
