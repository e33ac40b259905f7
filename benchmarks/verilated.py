"""A PyRTL block as Verilog through Verilator, to compare with: built once, timed by its own main loop."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyrtl
from recnmp.rtl.ports import Port

# Rows of 64-bit words come from a file; outputs are those before the edge. The sum shows that both saw the same.
MAIN = """
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>
#include "Vtop.h"
int main(int, char **words) {
  const size_t columns = %(columns)d;
  std::vector<uint64_t> rows;
  FILE *file = std::fopen(words[1], "rb");
  uint64_t word;
  while (std::fread(&word, 8, 1, file) == 1) rows.push_back(word);
  const size_t clocks = rows.size() / columns;
  for (int repeat = 0; repeat < 3; repeat++) {
    Vtop top;
    top.rst = 1; top.clk = 0; top.eval(); top.clk = 1; top.eval(); top.rst = 0;
    uint64_t sum = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (size_t t = 0; t < clocks; t++) {
      const uint64_t *row = &rows[t * columns];
      %(inputs)s
      top.clk = 0; top.eval();
      sum += (t + 1) * (%(outputs)s);
      top.clk = 1; top.eval();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%%.9f %%llu\\n", took.count(), (unsigned long long)sum);
  }
}
"""


def version() -> str | None:
    """Verilator's version, none if it is not installed."""
    if shutil.which("verilator") is None:
        return None
    return subprocess.run(
        ["verilator", "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[1]


def checksum(outputs: npt.NDArray[np.uint64]) -> int:
    """Of uint64 [clocks, words] as the main loop makes it."""
    weights = np.arange(1, len(outputs) + 1, dtype=np.uint64)
    return int((outputs.sum(axis=1, dtype=np.uint64) * weights).sum(dtype=np.uint64))


def timed(
    block: pyrtl.Block, inputs: Sequence[Port], outputs: Sequence[Port], rows: npt.NDArray[np.uint64]
) -> tuple[float, int]:
    """Seconds of the quickest of three runs over rows (one word a port), and the checksum of the outputs."""
    with tempfile.TemporaryDirectory(prefix="verilated-") as folder:
        place = Path(folder)
        with (place / "top.v").open("w") as file:
            pyrtl.output_to_verilog(file, block=block)
        text = (place / "top.v").read_text().replace("module toplevel(", "module top(")
        (place / "top.v").write_text(text)
        assignments = " ".join(f"top.{port.name} = row[{column}];" for column, port in enumerate(inputs))
        total = " + ".join(f"(uint64_t)top.{port.name}" for port in outputs)
        (place / "main.cpp").write_text(
            MAIN % {"columns": rows.shape[1], "inputs": assignments, "outputs": total}
        )
        rows.tofile(place / "rows.bin")
        subprocess.run(
            ["verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal",
             "-Wno-lint", "-CFLAGS", "-O3", "--top-module", "top", "top.v", "main.cpp"],
            cwd=place, check=True, capture_output=True,
        )  # fmt: skip
        said = subprocess.run(
            [place / "obj_dir" / "Vtop", "rows.bin"], cwd=place, check=True, capture_output=True, text=True
        ).stdout
    runs = [line.split() for line in said.splitlines()]
    return min(float(seconds) for seconds, _ in runs), int(runs[0][1])
