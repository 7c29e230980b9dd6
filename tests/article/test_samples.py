import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from synthetic_study import SyntheticStudy

from specdock.article.samples import MOST, TEXT_LIMIT, add_answers, read_values
from specdock.article.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("samples")
    return Study(SyntheticStudy(requests=100, text="long " * 400).write(root), root)


@pytest.mark.parametrize("group_size", [7, 150, 100_000])
def test_a_cells_values_do_not_depend_on_how_its_table_is_cut(study, tmp_path, group_size):
    source = pq.read_table(study.root / study.file("tables/requests.parquet"))
    pq.write_table(source, tmp_path / "requests.parquet", row_group_size=group_size)
    cell = next(iter(study.cells.values()))
    sample = read_values(tmp_path / "requests.parquet", [cell["cell"]])[cell["cell"]]
    rows = source.filter(pc.equal(source["cell"], cell["cell"])).to_pylist()
    measured = {float(f"{row['ttft']:.4g}") for row in rows}
    assert sample.values["ttft"]
    assert set(sample.values["ttft"]) <= measured
    if group_size > 100:
        assert len(sample.values["ttft"]) <= 2 * MOST


def test_an_answer_is_the_cells_first_raw_row_and_cut_short(study):
    cell = study.cells_of["ngram", "code@1"][0]
    samples = read_values(study.root / study.file("tables/requests.parquet"), [cell["cell"]])
    add_answers(samples, [cell], study.root)
    assert samples[cell["cell"]].prompt == "code-0"
    assert len(samples[cell["cell"]].text) == TEXT_LIMIT
