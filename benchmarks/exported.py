"""Rows per second of one model of 30 columns in Python and as exported: `python -m benchmarks.exported`.

All on one core. The rows are in memory as each language has them; C and Node score them one by one.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd

import opauc
from benchmarks.table import heading, line

N_TRAINING, N_ROWS, N_NUMBERS, N_CATEGORIES = 50_000, 20_000, 20, 10
REPEATS = 5
C_TIMER = """
#define OPAUC_DECLARATIONS
#include "model.c"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void)
{
    static opauc_row rows[N_ROWS];
    static char line[1 << 16];
    double score, sum = 0.0;
    int n = 0, i, at;
    clock_t start;
    while (n < N_ROWS && fgets(line, sizeof line, stdin)) {
        char *field = strtok(line, "\\t\\n");
        opauc_clear(&rows[n]);
        for (i = 0; field; i++, field = strtok(NULL, "\\t\\n"))
            opauc_set(&rows[n], i, strcpy(malloc(strlen(field) + 1), field));
        n++;
    }
    start = clock();
    for (i = 0; i < REPEATS; i++)
        for (at = 0; at < n; at++)
            sum += opauc_score(&rows[at], &score) ? 0.0 : score;
    printf("%.9g %.9g\\n", (double)(clock() - start) / CLOCKS_PER_SEC / REPEATS, sum / REPEATS);
    return 0;
}
"""
JS_TIMER = """
const model = require("./model.js"), rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
let best = Infinity, sum = 0;
for (let turn = 0; turn < REPEATS + 1; turn++) {
  const start = performance.now();
  sum = 0;
  for (const row of rows) sum += model.score(row);
  best = Math.min(best, (performance.now() - start) / 1000);
}
console.log(best, sum);
"""


def main():
    frame, labels = table(N_TRAINING + N_ROWS)
    model = opauc.OnePassGAM(random_state=0, n_jobs=1).fit(frame[:N_TRAINING], labels[:N_TRAINING])
    rows = frame[N_TRAINING:]
    wanted = model.decision_function(rows).sum()
    heading(["", "rows/s", "size"])
    with tempfile.TemporaryDirectory() as folder:
        show("Python, a frame", timed(lambda: model.decision_function(rows)))
        for name, measure in {"model.c": in_c, "model.js": in_node, "model.onnx": in_onnx}.items():
            opauc.export(model, Path(folder, name))
            seconds, total = measure(rows, Path(folder))
            assert abs(total - wanted) < 1e-6 * N_ROWS, (name, total, wanted)
            show(name, seconds, Path(folder, name).stat().st_size)


def table(n_rows):
    """A frame of numbers and categories, with labels that depend on pairs of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, N_NUMBERS)), columns=[f"n{j}" for j in range(N_NUMBERS)])
    for j in range(N_CATEGORIES):
        frame[f"c{j}"] = rng.choice([f"level {level}" for level in range(3 + 4 * j)], n_rows)
    score = np.sin(2 * frame["n0"]) + frame["n1"] * frame["n2"] + (frame["n3"] > 0) * (frame["n4"] > 0.5) * frame["n5"]
    score += frame["c3"].str.len() / 10 + (frame["c5"] == "level 2")
    return frame, rng.random(n_rows) < 1 / (1 + np.exp(-score))


def timed(run):
    """Best seconds of several runs."""
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def in_c(rows, folder):
    (folder / "timer.c").write_text(C_TIMER)
    sizes = [f"-DN_ROWS={N_ROWS}", f"-DREPEATS={REPEATS}"]
    command = ["cc", "-std=c99", "-O2", *sizes, "timer.c", "model.c", "-o", "timer", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    return output_of(["./timer"], rows.to_csv(sep="\t", header=False, index=False), folder)


def in_node(rows, folder):
    timer = JS_TIMER.replace("REPEATS", str(REPEATS))
    return output_of(["node", "-e", timer], json.dumps(rows.to_dict("records")), folder)


def output_of(command, text, folder):
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=folder)
    return [float(part) for part in ran.stdout.split()]


def in_onnx(rows, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    feeds = {name: rows[[name]].to_numpy(object if name[0] == "c" else np.float64) for name in rows}
    return timed(lambda: session.run(["score"], feeds)), session.run(["score"], feeds)[0].sum()


def show(name, seconds, size=None):
    line([name, f"{N_ROWS / seconds:,.0f}", "" if size is None else f"{size / 2**20:.2f} MB"])


if __name__ == "__main__":
    main()
