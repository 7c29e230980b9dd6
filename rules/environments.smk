# A marker an engine environment. The environment itself is built by `measure`, and only if a cell
# must run, so that a reader of results never downloads an engine.


rule environment_marker:
    input:
        locks=ancient(files.locks),
    output:
        marker="results/environments/{engine}.json",
    log:
        "logs/environments/{engine}.log",
    priority: files.before_measuring
    params:
        environment=files.environment,
    message:
        "What the environment {wildcards.engine} is made of"
    shell:
        "python scripts/environment.py --environment {params.environment:q}"
        " --out {output.marker} 2> {log}"
