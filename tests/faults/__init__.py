"""What the lake promises, held against faults: interleavings, crash points, random histories.

`make test` runs a share of it, `make faults` the whole, which also writes what it counted into
docs/reliability.md. Each suite has controls: broken variants that it must report.

To add a suite: write a test module here, scale it with `scale.scaled(share, whole)`, and let each
line of the table that it stands for end with `result.Line(…).keep()`. `report` does the rest. Give
it controls, and count those that were seen in `Line.controls`.

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
