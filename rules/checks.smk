# Every arm is judged by its own engine before a card is touched: `snakemake check`. The reports say
# what could be checked without a card and what could not.


rule check:
    input:
        files.checks,


rule check_arm:
    output:
        report="results/checks/{study}/{arm}.{fp}.json",
    log:
        "logs/checks/{study}.{arm}.{fp}.log",
    params:
        arm=files.arm,
    message:
        "Asking the engine of {wildcards.arm} what it has against its command line"
    shell:
        "python scripts/check_arm.py --arm {params.arm:q} --out {output.report} 2> {log}"
