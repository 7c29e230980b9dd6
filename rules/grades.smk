# Answers are graded from the raw session; programs that a model wrote run in a sandbox only.
# The path carries the fingerprint of the graders and of what is asked of them, so that a clone
# grades nothing anew.


rule grade:
    input:
        spec=ancient("results/{study}/specs/{arm}/seed-{seed}.{fp}.json"),
        requests=ancient("results/{study}/raw/{arm}/seed-{seed}/{fp}/requests.parquet"),
    output:
        grades="results/{study}/grades/{arm}/seed-{seed}/{fp}.{graders}.parquet",
    log:
        "logs/grades/{study}.{arm}.seed-{seed}.{fp}.{graders}.log",
    threads: 4
    message:
        "Grading the answers of arm {wildcards.arm}, seed {wildcards.seed}"
    shell:
        "python scripts/grade.py --spec {input.spec} --requests {input.requests}"
        " --at-once {threads} --out {output.grades} > {log} 2>&1"
