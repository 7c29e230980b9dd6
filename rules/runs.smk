# One job per arm and seed: one engine start that carries all cells still missing.
# ancient(): the fingerprint in the path already says when a result is no longer this result.


rule measure:
    input:
        spec=ancient("results/{study}/specs/{arm}/seed-{seed}.{fp}.json"),
        markers=ancient(files.markers),
        receipts=ancient(files.receipts),
    output:
        manifest="results/{study}/raw/{arm}/seed-{seed}/{fp}/manifest.json",
        requests="results/{study}/raw/{arm}/seed-{seed}/{fp}/requests.parquet",
        metrics="results/{study}/raw/{arm}/seed-{seed}/{fp}/metrics.parquet",
        power="results/{study}/raw/{arm}/seed-{seed}/{fp}/power.parquet",
        server_log="results/{study}/raw/{arm}/seed-{seed}/{fp}/server.log",
    log:
        "logs/measure/{study}.{arm}.seed-{seed}.{fp}.log",
    priority: files.priority
    retries: 1
    resources:
        gpu=1,
    params:
        out=subpath(output.manifest, parent=True),
    message:
        "Measuring arm {wildcards.arm}, seed {wildcards.seed}"
    shell:
        "exec python scripts/measure.py --spec {input.spec} --out {params.out} --log {log}"
