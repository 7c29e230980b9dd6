"""The files of a study as they are read, and how two rows are compared."""

import hashlib
import json
import math
from collections import defaultdict
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict
ROUNDING = 1e-9


class BrokenLink(Exception):
    """A link of the chain that does not hold; the text is one line that names it."""


class Study:
    """The files of a study, each read once; paths are shown from the repository root."""

    def __init__(self, folder: Path):
        self.folder, self.root = folder, folder.parents[1]
        self.name = folder.name
        self.shown = folder.relative_to(self.root).as_posix()
        self._tables: dict[str, list[Row]] = {}

    @cached_property
    def seal(self) -> dict:
        return read_json(self.folder / "seal.json")

    @cached_property
    def plan(self) -> dict:
        return read_json(self.folder / "plan.json")

    @cached_property
    def packs(self) -> list["Pack"]:
        """The sessions of the plan, in its order."""
        sessions = self.plan["sessions"]
        shown = f"{self.shown}/raw"
        return [Pack(self, f"{shown}/{a}/seed-{s}/{fp}", a, s, fp) for a, s, fp in sessions]

    @cached_property
    def cells(self) -> dict[str, Row]:
        return keyed(self.table("tables/cells.parquet"), "cell", f"{self.shown}/tables")

    @cached_property
    def usable(self) -> dict[tuple[str, str], list[Row]]:
        """Usable cells by arm and scenario."""
        found: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for cell in self.cells.values():
            if cell["usable"]:
                found[cell["arm"], cell["scenario"]].append(cell)
        return found

    @cached_property
    def sessions(self) -> dict[str, Row]:
        return keyed(self.table("tables/sessions.parquet"), "session", f"{self.shown}/tables")

    @cached_property
    def requests(self) -> list[Row]:
        return self.table("tables/requests.parquet")

    @cached_property
    def requests_of(self) -> dict[str, list[Row]]:
        """Rows of the table of requests by cell."""
        found: dict[str, list[Row]] = {}
        for row in self.requests:
            found.setdefault(row["cell"], []).append(row)
        return found

    @cached_property
    def estimates(self) -> dict[tuple, Row]:
        rows = self.table("claims/estimates.parquet")
        return {(row["metric"], row["arm"], row["scenario"]): row for row in rows}

    @cached_property
    def comparisons(self) -> dict[tuple, Row]:
        rows = self.table("claims/comparisons.parquet")
        return {(r["metric"], r["arm"], r["against"], r["scenario"]): r for r in rows}

    @cached_property
    def gates(self) -> dict[str, Row]:
        return {row["gate"]: row for row in self.table("claims/gates.parquet")}

    @cached_property
    def numbers(self) -> list[Row]:
        return read_json(self.folder / "article/numbers.json")["numbers"]

    def cells_of(self, arm: str, scenario: str) -> list[Row]:
        """Cells of an arm in a scenario, in the order of seeds."""
        own = [c for c in self.cells.values() if (c["arm"], c["scenario"]) == (arm, scenario)]
        return sorted(own, key=lambda cell: cell["seed"])

    def raw_row(self, file: str, row: int) -> Row:
        """A row of a raw file of this study."""
        pack = next(pack for pack in self.packs if file.startswith(f"{pack.shown}/"))
        return pack.rows[row]

    def table(self, name: str) -> list[Row]:
        if name not in self._tables:
            self._tables[name] = read_rows(self.folder / name)
        return self._tables[name]

    def text(self, name: str) -> str:
        return read_text(self.folder / name)


class Spec(dict):
    """A spec as manifests keep it: keys at their default are left out, and read as nothing."""

    def __missing__(self, key: str) -> "Spec":
        return Spec()


class Pack:
    """The raw files of one session job: an arm, a seed, a fingerprint."""

    def __init__(self, study: Study, shown: str, arm: str, seed: int, fp: str):
        self.study, self.shown, self.arm, self.seed, self.fp = study, shown, arm, seed, fp
        self.path = study.root / shown
        self.manifest = read_json(self.path / "manifest.json")
        self.spec_file = f"{study.shown}/specs/{arm}/seed-{seed}.{fp}.json"
        now = _spec(read_json(study.root / self.spec_file))
        self.spec = _judged(_spec(self.manifest["spec"]), now, self.spec_file)
        self.scenarios = {c["fingerprint"]: c["scenario"] for c in self.spec["cells"]}

    @cached_property
    def rows(self) -> list[Row]:
        return read_rows(self.path / "requests.parquet")

    @cached_property
    def grades(self) -> dict[tuple[str, int], Row]:
        """Grades by cell and request, of the one file that the seal names."""
        start = f"{self.study.shown}/grades/{self.arm}/seed-{self.seed}/{self.fp}."
        files = [name for name in self.study.seal["files"] if name.startswith(start)]
        if len(files) != 1:
            raise BrokenLink(f"{start}*.parquet: the seal names {len(files)} of these, not one")
        return {(g["cell"], g["request"]): g for g in read_rows(self.study.root / files[0])}

    def measured(self, cell: str) -> list[tuple[int, Row]]:
        """(row number, row) of the measured requests of a cell."""
        found = enumerate(self.rows)
        return [(i, r) for i, r in found if r["cell"] == cell and r["phase"] == "measured"]


def _spec(content: Row) -> Spec:
    return json.loads(json.dumps(content), object_hook=Spec)


def _judged(measured: Spec, now: Spec, where: str) -> Spec:
    """The spec of a manifest; how to judge its cells may have been decided later, in `now`."""
    today = {cell["fingerprint"]: cell["scenario"] for cell in now["cells"]}
    if list(today) != [cell["fingerprint"] for cell in measured["cells"]]:
        raise BrokenLink(f"{where}: its cells are not those that were measured")
    for cell in measured["cells"]:
        _take(("grade", "floor"), today[cell["fingerprint"]], cell["scenario"])
    _take(("study",), now, measured)
    _take(("evidence",), now["arm"], measured["arm"])
    _take(("patterns",), now["arm"]["engine"], measured["arm"]["engine"])
    return measured


def _take(keys: tuple[str, ...], source: Spec, target: Spec) -> None:
    for key in keys:
        target.pop(key, None)
        if key in source:
            target[key] = source[key]


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BrokenLink(f"{path}: {error}") from None


def read_json(path: Path) -> dict:
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise BrokenLink(f"{path}: {error}") from None


def read_rows(path: Path) -> list[Row]:
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, ValueError) as error:
        raise BrokenLink(f"{path}: {error}") from None
    # All times are UTC; a machine without time zone data must be able to read them, too.
    times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    for name in times:
        place, kind = table.schema.get_field_index(name), table.schema.field(name).type
        table = table.set_column(place, name, table[name].cast(pa.timestamp(kind.unit)))
    rows = table.to_pylist()
    for row in rows:
        row |= {name: row[name] and row[name].replace(tzinfo=UTC) for name in times}
    return rows


def keyed(rows: list[Row], key: str, where: str) -> dict[str, Row]:
    found = {row[key]: row for row in rows}
    if len(found) != len(rows):
        raise BrokenLink(f"{where}: two rows share a {key}")
    return found


def sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BrokenLink(f"{path}: {error}") from None


def same(a: object, b: object) -> bool:
    """Equality of fractions up to the order of summation, of anything else exactly."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    kinds = {type(a), type(b)}
    if float in kinds and kinds <= {float, int}:
        return math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return a == b


def compare(where: str, stated: Row, computed: Row, whole: bool = True) -> None:
    """Raises `BrokenLink` at the first value that does not follow from its source.

    With `whole` the stated row may have no column that was not computed.
    """
    for name, value in computed.items():
        if name not in stated or not same(stated[name], value):
            found = stated.get(name, "absent")
            raise BrokenLink(f"{where}: {name} is {found!r}, from its source follows {value!r}")
    if whole and (unknown := stated.keys() - computed.keys()):
        raise BrokenLink(f"{where}: {min(unknown)} is nothing that this program can recompute")


def must_equal(where: str, shown: Row, source: Row) -> None:
    """Raises `BrokenLink` at the first value that is shown and is not that of its source."""
    for name, value in shown.items():
        if value != source[name]:
            raise BrokenLink(f"{where}: shows {name} {value!r}, its source has {source[name]!r}")


def compare_tables(where: str, stated: list[Row], computed: list[Row], *key: str) -> None:
    """Compares two tables row by row, in order."""
    for own, other in zip(stated, computed, strict=False):
        compare(f"{where}, {'/'.join(str(other[name]) for name in key)}", own, other)
    if len(stated) != len(computed):
        raise BrokenLink(f"{where}: {len(stated)} rows, from their source follow {len(computed)}")


def to_milliseconds(moment: datetime) -> datetime:
    """A time as tables keep it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
