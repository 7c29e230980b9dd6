# The measured study becomes its article: page, Markdown, audit, figures and the ledger of numbers.


rule render:
    input:
        plan="results/{study}/plan.json",
        claims=rules.claims.output,
        requests="results/{study}/tables/requests.parquet",
        sessions="results/{study}/tables/sessions.parquet",
        cells="results/{study}/tables/cells.parquet",
        raw=files.requests,
        manifests=files.manifests,
        facts="config/facts.yaml",
        published=files.published,
        peers=files.peers,
        templates=files.templates,
        code=files.code("render"),
    output:
        page="results/{study}/article/article.html",
        markdown="results/{study}/article/article.md",
        audit="results/{study}/article/audit.html",
        table="results/{study}/article/numbers.parquet",
        numbers="results/{study}/article/numbers.json",
        figures=directory("results/{study}/article/figures"),
    log:
        "logs/render/{study}.log",
    params:
        study=subpath(input.plan, parent=True),
        out=subpath(output.page, parent=True),
    message:
        "Rendering the article of {wildcards.study}"
    shell:
        "python scripts/render.py --study {params.study} --out {params.out} 2> {log}"


rule print:
    input:
        page="results/{study}/article/article.html",
        code=files.code("print"),
    output:
        pdf="results/{study}/article/article.pdf",
    log:
        "logs/print/{study}.log",
    message:
        "Printing the article of {wildcards.study}"
    shell:
        "python scripts/print.py --page {input.page} --out {output.pdf} 2> {log}"
