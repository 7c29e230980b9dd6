# Tables become claims: levels with intervals, comparisons with verdicts, gates with outcomes, and
# one table for each question of the argument.


rule claims:
    input:
        plan="results/{study}/plan.json",
        cells="results/{study}/tables/cells.parquet",
        requests="results/{study}/tables/requests.parquet",
        sessions="results/{study}/tables/sessions.parquet",
        raw=files.requests,
        facts="config/facts.yaml",
        published=files.published,
        code=files.code("claims"),
    output:
        estimates="results/{study}/claims/estimates.parquet",
        comparisons="results/{study}/claims/comparisons.parquet",
        gates="results/{study}/claims/gates.parquet",
        accuracy="results/{study}/claims/accuracy.parquet",
        accuracy_pairs="results/{study}/claims/accuracy_pairs.parquet",
        losslessness="results/{study}/claims/losslessness.parquet",
        acceptance="results/{study}/claims/acceptance.parquet",
        positions="results/{study}/claims/positions.parquet",
        steps="results/{study}/claims/steps.parquet",
        waterfall="results/{study}/claims/waterfall.parquet",
        contrasts="results/{study}/claims/contrasts.parquet",
        waits="results/{study}/claims/waits.parquet",
        crossings="results/{study}/claims/crossings.parquet",
        schedules="results/{study}/claims/schedules.parquet",
        scheduled="results/{study}/claims/scheduled.parquet",
        sweep="results/{study}/claims/sweep.parquet",
        capacity="results/{study}/claims/capacity.parquet",
        startups="results/{study}/claims/startups.parquet",
        energy="results/{study}/claims/energy.parquet",
        limit="results/{study}/claims/limit.parquet",
        what_if="results/{study}/claims/what_if.parquet",
        break_even="results/{study}/claims/break_even.parquet",
        placed="results/{study}/claims/placed.parquet",
        drift="results/{study}/claims/drift.parquet",
        scoreboard="results/{study}/claims/scoreboard.parquet",
    log:
        "logs/claims/{study}.log",
    params:
        tables=subpath(input.cells, parent=True),
        out=subpath(output.estimates, parent=True),
    message:
        "Computing the claims of {wildcards.study}"
    shell:
        "python scripts/claims.py --plan {input.plan} --tables {params.tables}"
        " --out {params.out} > {log} 2>&1"
