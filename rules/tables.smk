# Raw sessions and grades become typed tables; the modules that decide a value are inputs.


rule tables:
    input:
        manifests=files.manifests,
        requests=files.requests,
        specs=files.specs,
        grades=files.grades,
        code=files.code("tables"),
    output:
        requests="results/{study}/tables/requests.parquet",
        sessions="results/{study}/tables/sessions.parquet",
        cells="results/{study}/tables/cells.parquet",
        power="results/{study}/tables/power.parquet",
    log:
        "logs/tables/{study}.log",
    params:
        out=subpath(output.cells, parent=True),
    message:
        "Building the tables of {wildcards.study}"
    shell:
        "python scripts/tables.py --manifests {input.manifests} --specs {input.specs}"
        " --grades {input.grades} --out {params.out} > {log} 2>&1"
