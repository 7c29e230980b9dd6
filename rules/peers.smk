# Other people's clients measure one cell of the study beside ours, against one engine start, where
# the study's `peers` asks for it: `snakemake --cores 1 peers`.


rule peers:
    input:
        files.peers,
    log:
        "logs/peers.log",
    params:
        table=files.peers,
        study=files.plan.name,
    message:
        "Comparing clients on one cell of {params.study}"
    shell:
        "if [ -z '{params.table}' ]; then"
        " echo 'config/studies/{params.study}.yaml has no `peers`: it names no client to compare'"
        " | tee {log}; exit 2; fi; echo 'compared: {params.table}' | tee {log}"


rule measure_peers:
    input:
        markers=ancient(files.peer_markers),
        receipts=ancient(files.peer_receipts),
    output:
        manifest="results/{study}/peers/{fp}/manifest.json",
    log:
        "logs/peers/{study}.{fp}.log",
    resources:
        gpu=1,
    params:
        spec=files.peers_spec,
        out=subpath(output.manifest, parent=True),
    message:
        "Measuring one cell of {wildcards.study} with every client"
    shell:
        "exec python scripts/cross_check.py --spec {params.spec:q} --out {params.out} --log {log}"


rule compare_peers:
    input:
        plan="results/{study}/plan.json",
        manifest=files.peers_manifest,
        code=files.code("peers"),
    output:
        table="results/{study}/claims/peers.parquet",
    log:
        "logs/peers/{study}.compare.log",
    message:
        "Comparing the clients of {wildcards.study}"
    shell:
        "python scripts/peers.py --plan {input.plan} --manifest {input.manifest}"
        " --out {output.table} 2> {log}"
