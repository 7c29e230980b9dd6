"""The machine is told by what decides a speed, never by its name."""

import json
import platform

from specdock.runs import host
from specdock.runs.host import host_facts

CPU_INFO = """processor\t: 0
model name\t: Some Processor
flags\t\t: fpu avx2 amx_tile avx512_bf16 sse

processor\t: 1
model name\t: Some Other
"""


def test_facts_are_json_and_name_no_host():
    facts = host_facts()
    text = json.dumps(facts)
    assert json.loads(text) == facts
    assert platform.node() not in [value for value in facts.values() if isinstance(value, str)]
    assert facts["usable_threads"] >= 1
    assert facts["memory"] > 0
    assert 0 <= facts["busy"] <= 1
    assert len(facts["load"]) == 3
    assert facts["processor"]


def test_only_flags_that_matter_are_kept(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text(CPU_INFO)
    monkeypatch.setattr(host, "_CPU_INFO", file)
    facts = host_facts()
    assert facts["processor"] == "Some Processor"
    assert facts["flags"] == ["amx_tile", "avx2", "avx512_bf16"]


def test_a_machine_without_these_files_still_has_facts(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_CPU_INFO", tmp_path / "none")
    monkeypatch.setattr(host, "_GOVERNOR", tmp_path / "none")
    facts = host_facts()
    assert facts["flags"] == []
    assert facts["governor"] is None
    assert facts["processor"]
