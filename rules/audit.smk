# A finished study is sealed, so that anyone can prove it again, and exported with its provenance.


rule seal:
    input:
        tables=rules.tables.output,
        claims=rules.claims.output,
        peers=files.peers,
        article=rules.render.output,
        manifests=files.manifests,
        grades=files.grades,
        code=files.code("seal"),
    output:
        seal="results/{study}/seal.json",
    log:
        "logs/seal/{study}.log",
    params:
        study=subpath(output.seal, parent=True),
    message:
        "Sealing {wildcards.study}"
    shell:
        "python scripts/seal.py --study {params.study} --grades {input.grades} 2> {log}"


# Proves what is there and makes nothing: a study that was archived is judged as it is.
rule verify:
    log:
        "logs/verify.log",
    params:
        study=files.study,
    message:
        "Verifying {params.study} from its raw rows"
    shell:
        "python scripts/verify.py {params.study} 2>&1 | tee {log}"


rule crate:
    input:
        f"crates/{files.plan.name}",


rule export:
    input:
        seal="results/{study}/seal.json",
        code=files.code("crate"),
    output:
        crate=directory("crates/{study}"),
    log:
        "logs/crate/{study}.log",
    params:
        study=subpath(input.seal, parent=True),
    message:
        "Exporting {wildcards.study} as a Workflow Run RO-Crate"
    shell:
        "python scripts/crate.py --study {params.study} --out {output.crate} 2> {log}"
