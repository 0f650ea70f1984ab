"""Several processes at one cache: nobody fails, nobody reads what was not written, nothing is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fff.access.disk.store import RowStore
from tests.cli.terminal import environment

WORKER = """
import random, sys
from pathlib import Path
import pyarrow as pa
from fff.access.disk.index import KeptAnswer
from fff.access.disk.store import RowStore

rng = random.Random(int(sys.argv[2]))
store = RowStore(Path(sys.argv[1]), limit=400_000)
schema = pa.schema([("a", pa.int64())])
hits = scans = 0
for turn in range(150):
    shape = store.shape(b"%d" % rng.randrange(3))
    if shape is None:
        continue
    place = ("web", shape.hex())
    keys = [b"%d" % rng.randrange(200) for _ in range(20)]
    for keyset in store.keysets(shape):
        for key, answer in store.answers(shape, keyset, keys, 60.0).items():
            assert answer.body == (shape + key) * 50, "not what was written"
            hits += 1
    store.keep(shape, place, ("a",), ("a",), [KeptAnswer(key, (shape + key) * 50, b"", 1, store.now()) for key in keys])
    entry = store.scan(shape, ("a",), 60.0)
    if entry is not None:
        rows = store.rows(shape, entry, schema)
        if rows is None:
            store.forget(entry)
        else:
            assert [batch.to_pydict() for batch in rows] == [{"a": list(range(shape[0]))}]
            scans += 1
    if turn % 5 == 0:
        file = store.scan_file(schema)
        if file is not None:
            file.add(pa.record_batch([pa.array(range(shape[0]), pa.int64())], schema))
            store.keep_scan(shape, place, ("a",), file, store.now())
    if turn % 50 == 49:
        store.clear()
    store.flush()
store.close()
print(hits, scans)
"""


@pytest.mark.slow
def test_processes_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(seed)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    said = [worker.communicate(timeout=120) for worker in workers]
    assert [(worker.returncode, err) for worker, (_, err) in zip(workers, said, strict=True)] == [(0, "")] * 3
    hits, scans = (sum(int(out.split()[part]) for out, _ in said) for part in (0, 1))
    assert hits > 100
    assert scans > 10
    store = RowStore(folder)
    named = sum(held.scans for held in store.held())
    store.close()
    files = {path.name for path in folder.iterdir()}
    assert not [name for name in files if name.endswith((".part", ".broken"))]
    assert sum(name.endswith(".arrow") for name in files) == named
