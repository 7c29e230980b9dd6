# Models and data sets by hash: a lock says which bytes, a receipt that they were here and right.


rule pin:
    output:
        lock="results/pins/{pin}.lock.json",
    log:
        "logs/pin/{pin}.log",
    priority: files.before_measuring
    params:
        commit=files.commit,
    message:
        "Pinning {wildcards.pin} {params.commit}"
    shell:
        "python scripts/pin.py --pin {wildcards.pin} --out {output.lock} > {log} 2>&1"


rule fetch:
    input:
        lock=ancient("results/pins/{pin}.lock.json"),
        bases=ancient(files.bases),
    output:
        receipt="results/pins/{pin}.receipt.json",
    log:
        "logs/fetch/{pin}.log",
    priority: files.before_measuring
    message:
        "Fetching {wildcards.pin} and re-hashing every file"
    shell:
        "python scripts/fetch.py --pin {wildcards.pin} --out {output.receipt}"
        " > {log} 2>&1"
