# The plan as files: one resolved spec a session, and the study as the article reads it.


rule plan:
    log:
        "logs/plan.log",
    message:
        "Arms x scenarios x seeds of this study, what is measured, what is to run"
    params:
        study=files.plan.name,
    shell:
        "{sys.executable} scripts/plan.py --study {params.study} 2> {log}"


rule resolve:
    output:
        spec="results/{study}/specs/{arm}/seed-{seed}.{fp}.json",
    log:
        "logs/resolve/{study}.{arm}.seed-{seed}.{fp}.log",
    message:
        "Resolving arm {wildcards.arm}, seed {wildcards.seed}"
    params:
        spec=files.spec,
    shell:
        "printf '%s\\n' {params.spec:q} > {output.spec} 2> {log}"


rule study:
    output:
        "results/{study}/plan.json",
    log:
        "logs/study/{study}.log",
    message:
        "Writing the resolved plan of {wildcards.study}"
    params:
        fingerprint=files.study_fingerprint,
    shell:
        "{sys.executable} scripts/resolve.py --study {wildcards.study} --out {output} 2> {log}"
