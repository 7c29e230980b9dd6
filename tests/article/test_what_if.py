"""What an acceptance length would be worth, from an invented study whose break-evens are known."""

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import TEMPLATES, Rendered, rendered
from synthetic_study import CARD, IMPOSED, STEP_COST, SyntheticStudy
from test_arguments import claims_again, measured_of, rewrite, rows_of

from specdock.article.render import render
from specdock.article.study import Study
from specdock.claims.arguments.limit import limit
from specdock.claims.arguments.whatif import break_even, placed, what_if

GIB = 2**30


@pytest.fixture(scope="module")
def article(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return rendered(tmp_path_factory.mktemp("imposed"), SyntheticStudy(**IMPOSED))


@pytest.fixture(scope="module")
def folder(article: Rendered) -> Path:
    return article.out.parent


def section(article: Rendered, title: str) -> str:
    text = article.markdown
    start = text.index(f"## {title}\n")
    return text[start : text.index("\n## ", start)]


# The curve


def test_a_speed_up_is_the_length_over_the_cost_of_a_step(folder):
    rows = rows_of(folder, "what_if")
    assert len(rows) == 4 * len(STEP_COST)
    for row in rows:
        assert row["speed_up"] == pytest.approx(row["length"] / STEP_COST[row["streams"]], rel=0.05)
        assert row["speed_up_low"] < row["speed_up"] < row["speed_up_high"]
        assert row["counted"] == pytest.approx(row["length"])
        assert row["clean"] and row["synthetic"] and row["against"] == "plain"
        assert row["arms"] == "keeps-2, keeps-3, keeps-4.5, keeps-6"


def test_an_arm_that_differs_in_more_is_on_no_curve(folder):
    measured = measured_of(folder)
    measured.plan["arms"]["keeps-3"]["serve"]["request_slots"] = 32
    families = {row["arms"] for row in what_if(measured)}
    assert families == {"keeps-2, keeps-4.5, keeps-6", "keeps-3"}
    # What was published stands on the candidate's curve.
    assert {row["arms"] for row in placed(measured)} == {"keeps-2, keeps-4.5, keeps-6"}


def test_a_step_that_a_schedule_shortens_is_on_no_curve(folder):
    measured = measured_of(folder)
    wanted = measured.plan["arms"]["keeps-3"]["speculation"]
    wanted["schedule"] = {"1-4": wanted["draft_tokens"], "5-16": 1}
    own = [row for row in what_if(measured) if row["arm"] == "keeps-3"]
    assert {row["streams"] for row in own} == {1, 4}
    wanted["schedule"] = {"1-16": 0}
    assert not [row for row in what_if(measured) if row["arm"] == "keeps-3"]
    assert "keeps-3" not in {row["arms"] for row in break_even(measured)}


def test_plain_decoding_on_other_flags_is_said(folder):
    measured = measured_of(folder)
    measured.plan["arms"]["plain"]["serve"]["request_slots"] = 32
    row = next(what_if(measured))
    assert not row["clean"] and row["factors"] == "slots, speculation"


@pytest.mark.parametrize("rows", [what_if, limit])
def test_a_scenario_that_measures_prefill_has_neither_curve_nor_limit(folder, rows):
    measured = measured_of(folder)
    measured.plan["scenarios"][0] |= {"prompt_tokens": 4000}
    assert {row["scenario"] for row in rows(measured)} == {"fixed@4", "fixed@16"}


def test_a_study_without_imposed_acceptance_has_neither_rows_nor_a_section(won):
    assert not won.study.arguments["what_if"] and not won.study.arguments["placed"]
    assert "What an acceptance length would be worth" not in won.markdown


# The break-even


def test_the_break_even_is_what_a_step_costs(folder):
    alone, four, crowd = rows_of(folder, "break_even")
    assert (alone["place"], alone["length"], alone["first"]) == ("below the first", None, 2)
    assert four["place"] == "reached" and four["basis"] == "between runs"
    assert four["length"] == pytest.approx(STEP_COST[4], rel=0.05)
    assert 3 < four["length_low"] < four["length"] < four["length_high"] < 4.5
    assert (crowd["place"], crowd["length"], crowd["last"]) == ("not reached", None, 6)
    # Beyond the lengths a step costs what it costs at the nearest: the break-even is that cost.
    assert alone["extrapolated"] == pytest.approx(STEP_COST[1], rel=0.05)
    assert crowd["extrapolated"] == pytest.approx(STEP_COST[16], rel=0.05)
    assert crowd["extrapolated_low"] < crowd["extrapolated"] < crowd["extrapolated_high"]
    assert four["extrapolated"] is None


def test_one_start_has_a_break_even_without_an_interval(tmp_path):
    folder = SyntheticStudy(**IMPOSED | {"seeds": [1]}).write(tmp_path)
    row = rows_of(folder, "break_even", scenario="fixed@4")[0]
    assert row["length"] == pytest.approx(STEP_COST[4], rel=0.1)
    assert row["length_low"] is None and row["basis"] == "no interval"
    assert "one engine start" in row["reason"]
    assert {row["verdict"] for row in rows_of(folder, "placed")} == {"not decidable"}


def test_a_curve_that_touches_plain_decoding_at_its_end_is_open(folder):
    measured = measured_of(folder)
    del measured.plan["arms"]["keeps-6"], measured.plan["arms"]["keeps-4.5"]
    cells = measured.usable.copy()
    last = cells["arm"].eq("keeps-3") & cells["scenario"].eq("fixed@4")
    plain = cells[cells["arm"].eq("plain") & cells["scenario"].eq("fixed@4")]
    cells.loc[last, "output_rate"] = plain["output_rate"].to_numpy() * [0.98, 1.01, 0.99]
    measured.__dict__["usable"] = cells
    row = next(row for row in break_even(measured) if row["scenario"] == "fixed@4")
    assert row["place"] == "not reached" and row["open"] and row["length_high"] == pytest.approx(3)


# Published drafters


def test_published_figures_stand_at_their_concurrency_and_acceptance(folder):
    rows = rows_of(folder, "placed")
    found = {(r["scenario"], r["acceptance"], r["figure"]) for r in rows}
    assert found == {
        ("fixed@1", "elsewhere/kept/low", "elsewhere/alone/low"),
        ("fixed@1", "elsewhere/kept/high", "elsewhere/alone/low"),
        ("fixed@1", "elsewhere/sums/kept", "elsewhere/alone/low"),
        ("fixed@1", "elsewhere/sums/kept", "elsewhere/sums/rate"),
        ("fixed@4", "elsewhere/kept/low", "elsewhere/four/low"),
        ("fixed@4", "elsewhere/kept/high", "elsewhere/four/low"),
        ("fixed@4", "elsewhere/sums/kept", "elsewhere/four/low"),
    }


def test_ours_is_read_off_the_curve_and_the_verdict_says_where_all_of_it_lies(folder):
    rows = {(r["scenario"], r["acceptance"], r["metric"]): r for r in rows_of(folder, "placed")}
    inside = rows["fixed@1", "elsewhere/kept/low", "speed-up"]  # 2.5 / 1.5 in 1.2 to 2
    assert inside["ours"] == pytest.approx(2.5 / 1.5, rel=0.05) and inside["verdict"] == "inside"
    over = rows["fixed@1", "elsewhere/kept/high", "speed-up"]
    assert over["ours"] == pytest.approx(5 / 1.5, rel=0.05) and over["verdict"] == "above"
    under = rows["fixed@4", "elsewhere/kept/low", "speed-up"]
    assert under["verdict"] == "below" and under["ours_high"] < 1.1
    rate = rows["fixed@1", "elsewhere/sums/kept", "output rate"]
    assert rate["ours"] == pytest.approx(18 * 4.2 / 1.5, rel=0.05) and rate["verdict"] == "above"


def test_one_length_is_a_point_from_which_the_rest_is_extrapolated(folder):
    measured = measured_of(folder)
    for arm in ("keeps-2", "keeps-3", "keeps-6"):
        del measured.plan["arms"][arm]
    alone, *_ = break_even(measured)
    assert (alone["first"], alone["last"], alone["length"]) == (4.5, 4.5, None)
    assert alone["extrapolated"] == pytest.approx(STEP_COST[1], rel=0.05)
    rows = {row["length"]: row for row in placed(measured) if row["metric"] == "speed-up"}
    assert {row["how"] for row in rows.values()} == {"extrapolated"}
    assert rows[2.5]["ours"] == pytest.approx(2.5 / STEP_COST[4], rel=0.05)


def test_what_no_step_can_keep_is_not_guessed(folder):
    measured = measured_of(folder)
    for arm in measured.plan["arms"].values():
        arm["speculation"]["draft_tokens"] = 3
    row = next(row for row in placed(measured) if row["length"] == 5)
    assert row["ours"] is None and row["how"] is None and row["verdict"] == "not decidable"
    assert "keeps so many" in row["reason"]


def test_an_interval_across_the_end_of_a_range_decides_nothing(folder, tmp_path):
    measured = measured_of(folder)
    row = next(r for r in placed(measured) if r["length"] == 5 and r["scenario"] == "fixed@4")
    file = measured.root / "config/published/elsewhere.yaml"
    text = file.read_text("utf-8")
    end = f"{(row['ours'] + row['ours_high']) / 2:.4f}"
    try:
        file.write_text(text.replace("1.1x to 1.4x", f"1.1x to {end}x").replace("1.4,", f"{end},"))
        again = next(r for r in placed(measured) if r["length"] == 5 and r["streams"] == 4)
    finally:
        file.write_text(text)
    assert again["published_high"] == float(end) and again["verdict"] == "not decidable"


# The article


def test_the_section_says_what_the_rows_say(article):
    text = section(article, "What an acceptance length would be worth")
    assert "it pays at every length imposed" in text and "the break-even is not reached" in text
    assert "drafting breaks even at" in text
    assert text.count("their-drafter") == 7
    assert "inside" in text and "above" in text and "below" in text


def test_the_figure_has_its_curve_as_data(article):
    lines = (article.out / "figures/what-if.csv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + 4 * len(STEP_COST)
    first = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert first["x"] == "2.0" and float(first["value"]) == pytest.approx(2 / 1.5, rel=0.05)


def test_a_concurrency_has_one_panel_in_which_an_arm_alone_is_named(tmp_path):
    folder = SyntheticStudy(**IMPOSED).write(tmp_path)
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    plan["arms"]["keeps-3"]["serve"]["request_slots"] = 32
    (folder / "plan.json").write_text(json.dumps(plan))
    claims_again(folder)
    render(Study(folder, tmp_path), TEMPLATES, folder / "article")
    drawn = (folder / "article/figures/what-if.svg").read_text("utf-8")
    assert drawn.count("imposed acceptance length") == len(STEP_COST)
    assert drawn.count(">keeps-3<") == len(STEP_COST) and ">keeps-2<" not in drawn


def test_a_page_of_imposed_acceptance_is_called_synthetic_from_the_first_section_on(article):
    assert "All of it is synthetic" in section(article, "The finding")


def test_starts_without_a_cell_are_not_called_synthetic(tmp_path):
    folder = SyntheticStudy(**IMPOSED).write(tmp_path)
    for name in ("cells", "requests"):
        path = folder / f"tables/{name}.parquet"
        pq.write_table(pq.read_table(path).slice(0, 0), path)
    claims_again(folder)
    render(Study(folder, tmp_path), TEMPLATES, folder / "article")
    assert "synthetic:" not in (folder / "article/article.md").read_text("utf-8")


def test_advice_from_imposed_acceptance_is_for_a_drafter_that_earns_it(article):
    condition = "for a drafter that earns what was imposed here"
    assert condition in section(article, "What to serve")


def test_every_number_of_the_section_is_synthetic(article):
    numbers = json.loads((article.out / "numbers.json").read_text("utf-8"))["numbers"]
    tables = ("what_if/", "break_even/", "placed/")
    own = [number for number in numbers if number["id"].startswith(tables)]
    assert own and all(number["synthetic"] for number in own)


# Bandwidth and bytes of a card


def test_the_cards_own_copy_is_its_bandwidth(folder):
    row = rows_of(folder, "limit", arm="plain", scenario="fixed@1")[0]
    assert row["bandwidth"] == CARD["copy_bandwidth"]
    assert row["bandwidth_from"].startswith("best of 10 copies of 4 GiB on the card")
    assert row["read_time"] == pytest.approx(row["step_gigabytes"] / row["bandwidth"] * 1e3)


def test_the_mark_is_for_plain_decoding_at_one_stream(folder):
    asked = [row for row in rows_of(folder, "limit") if row["verdict"]]
    assert [(row["arm"], row["scenario"]) for row in asked] == [("plain", "fixed@1")]
    assert asked[0]["reached"] < asked[0]["mark"] and asked[0]["verdict"] == "failed"


def dummies(folder: Path, beyond: float = 3.0, **shape: object):
    """The study as if its checkpoints had no weight files; plain decoding loads 50 GiB."""
    measured = measured_of(folder)
    sessions = measured.sessions.copy()
    config = {"vocab_size": 248_320, "hidden_size": 5120, "dtype": "bfloat16"} | shape
    config |= {"num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4}
    drafts = sessions["arm"].ne("plain")
    sessions["model_memory"] = 50.0 + beyond * drafts
    sessions["checkpoints"] = [
        {
            "target": {"weights": None, "config": config},
            "drafter": {"weights": None, "config": config} if drafted else None,
        }
        for drafted in drafts
    ]
    measured.__dict__["sessions"] = sessions
    return measured


def test_dummy_weights_are_counted_by_what_the_engine_loaded(folder):
    rows = {(row["arm"], row["scenario"]): row for row in limit(dummies(folder))}
    table = 248_320 * 5120 * 2
    plain, drafts = rows["plain", "fixed@1"], rows["keeps-2", "fixed@1"]
    assert "engine's account" in plain["bytes_from"]
    # The embeddings are loaded and not read; keys and values of some hundred tokens come on top.
    assert plain["step_gigabytes"] * 1e9 == pytest.approx(50 * GIB - table, rel=0.002)
    # The drafter is what was loaded beyond; it borrows the target's head, in each of five passes.
    beyond = (drafts["step_gigabytes"] - plain["step_gigabytes"]) * 1e9
    assert beyond == pytest.approx(5 * (3 * GIB + table), rel=0.01)


@pytest.mark.parametrize("shape", [{"num_experts": 8}, {"dtype": "float4"}])
def test_what_the_sum_does_not_tell_has_no_limit(folder, shape):
    assert list(limit(dummies(folder, **shape))) == []


def test_one_table_for_embeddings_and_head_is_read(folder):
    rows = limit(dummies(folder, tie_word_embeddings=True))
    plain = next(row for row in rows if row["arm"] == "plain")
    assert plain["step_gigabytes"] * 1e9 == pytest.approx(50 * GIB, rel=0.002)


# Energy


def test_energy_by_counter_and_by_samples_is_compared(article, folder):
    rows = rows_of(folder, "energy")
    assert len(rows) == 5 * len(STEP_COST)
    for row in rows:
        assert row["verdict"] == "agree" and row["why"] is None
        assert abs(math.log(row["ratio"])) < row["tolerance"] == 0.05
    assert "integrating samples of its power" in section(article, "The bill")


@pytest.mark.parametrize(
    ("column", "change", "verdict", "why"),
    [
        ("energy_trapezoid", lambda v: v * 0.9, "differ", "not known"),
        ("energy_counter", lambda v: None, "not comparable", "counter was not read"),
        ("energy_trapezoid", lambda v: None, "not comparable", "no samples"),
    ],
)
def test_energies_that_differ_say_why(tmp_path, column, change, verdict, why):
    folder = SyntheticStudy(**IMPOSED | {"workloads": {"fixed": [1]}}).write(tmp_path)
    second = ("plain", 2)
    rewrite(
        folder / "tables/cells.parquet",
        column,
        lambda row: change(row[column]) if (row["arm"], row["seed"]) == second else row[column],
    )
    claims_again(folder)
    row = rows_of(folder, "energy", arm="plain")[0]
    assert row["verdict"] == verdict and why in row["why"]
    rewrite(folder / "tables/cells.parquet", "wall", lambda row: 1.0)
    claims_again(folder)
    if verdict == "differ":
        assert "so short" in rows_of(folder, "energy", arm="plain")[0]["why"]
    assert rows_of(folder, "energy", arm="keeps-2")[0]["verdict"] == "agree"


def test_a_window_that_samples_cover_in_part_is_the_reason(tmp_path):
    folder = SyntheticStudy(**IMPOSED | {"workloads": {"fixed": [1]}}).write(tmp_path)
    cells = folder / "tables/cells.parquet"
    for column in ("energy_trapezoid", "energy_coverage"):
        rewrite(cells, column, lambda row, column=column: row[column] * 0.5)
    claims_again(folder)
    assert "cover a part" in rows_of(folder, "energy", arm="plain")[0]["why"]
