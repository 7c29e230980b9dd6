# Cells become claims: levels with intervals, comparisons with verdicts, gates with outcomes.


rule claims:
    input:
        plan="results/{study}/plan.json",
        cells="results/{study}/tables/cells.parquet",
        code=files.code("claims"),
    output:
        estimates="results/{study}/claims/estimates.parquet",
        comparisons="results/{study}/claims/comparisons.parquet",
        gates="results/{study}/claims/gates.parquet",
    log:
        "logs/claims/{study}.log",
    params:
        out=subpath(output.estimates, parent=True),
    message:
        "Computing the claims of {wildcards.study}"
    shell:
        "python scripts/claims.py --plan {input.plan} --cells {input.cells}"
        " --out {params.out} > {log} 2>&1"
