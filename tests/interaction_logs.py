"""A small log, its import, and the queries of a trace, for the tests of interactions."""

from pathlib import Path
from typing import Any

from recnmp.traces.interactions import Imported, InteractionOptions, import_interactions

from recnmp.workload import Workload

BASIC: dict[str, Any] = {"user": ("user",), "item": ("item"), "time": "time"}
LOG = "user,item,time\n1,31,100\n2,10,110\n1,17,160\n2,31,90\n1,31,5000\n"


def imported(tmp_path: Path, content: str | bytes, name: str = "log.csv", **options: Any) -> Imported:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return import_interactions(path, InteractionOptions(**BASIC | options))


def queries(workload: Workload) -> list[list[list[int]]]:
    """[query][table] -> ids, over all batches."""
    found = []
    for batch in workload.batches():
        bags = [batch.indices[a:b].tolist() for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)]
        size = batch.batch_size
        found += [bags[sample::size] for sample in range(size)]
    return found
