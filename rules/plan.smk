# The plan as files: one resolved spec a session, and the study as the article reads it.


rule plan:
    log:
        "logs/plan.log",
    params:
        study=files.plan.name,
    message:
        "Arms x scenarios x seeds of this study, what is measured, what is to run"
    shell:
        "python scripts/plan.py --study {params.study} 2> {log}"


rule resolve:
    output:
        spec="results/{study}/specs/{arm}/seed-{seed}.{fp}.json",
    log:
        "logs/resolve/{study}.{arm}.seed-{seed}.{fp}.log",
    priority: files.before_measuring
    params:
        spec=files.spec,
    message:
        "Resolving arm {wildcards.arm}, seed {wildcards.seed}"
    shell:
        "printf '%s\\n' {params.spec:q} > {output.spec} 2> {log}"


rule study:
    output:
        "results/{study}/plan.json",
    log:
        "logs/study/{study}.log",
    params:
        fingerprint=files.study_fingerprint,
        replay="--replay" if config["replay"] else "",
    message:
        "Writing the resolved plan of {wildcards.study}"
    shell:
        "python scripts/resolve.py --study {wildcards.study} {params.replay} --out {output} 2> {log}"
