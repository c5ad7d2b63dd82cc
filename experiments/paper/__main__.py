"""`python -m experiments.paper run|plan|gather|report`: compute, foresee, bring together or show the evaluation."""

import argparse
import sys
from pathlib import Path

from experiments.paper.catalogue import Catalogue
from experiments.paper.evidence import Evidence
from experiments.paper.exports import as_csv, as_markdown
from experiments.paper.figures import all_figures
from experiments.paper.page import render_page, standalone
from experiments.paper.plan import planned
from experiments.paper.protocol import PROFILES
from experiments.paper.runner import Runner
from experiments.paper.store import RESULTS, Store
from opauc.core.atomic_write import atomic_write
from opauc.errors import OpaucError
from opauc.report.text import seconds

REPORT = Path(__file__).parent / "report"


def main() -> int:
    """Do what the command line says; a mistake is one line and exit code 2."""
    given = _arguments()
    try:
        if given.verb == "plan":
            show_plan(given)
        elif given.verb == "gather":
            gather(Store(given.source), Store(given.store), given.profile)
        elif given.verb == "report":
            write_report(Evidence(Store(given.store), given.profile, Catalogue()), given.report, given.figure)
        else:
            Runner(
                PROFILES[given.profile], Store(given.store), n_workers=given.workers,
                sets=given.sets, columns=given.methods, retry=given.retry,
            ).run()  # fmt: skip
    except OpaucError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; what is finished is kept", file=sys.stderr)
        return 130
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.add_argument("verb", choices=("run", "plan", "gather", "report"))
    parser.add_argument("--profile", choices=sorted(PROFILES), default="paper")
    parser.add_argument("--store", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--source", type=Path, help="folder of other results, to be gathered into the store")
    parser.add_argument("--report", type=Path, default=REPORT, help="folder of the report")
    parser.add_argument("--figure", type=Path, help="file for the figure of running times, for documents")
    parser.add_argument("--workers", type=int, default=2, help="processes, one core each")
    parser.add_argument("--retry", action="store_true", help="compute lines that failed once more")
    parser.add_argument("--sets", nargs="*", default=(), help="these data sets only")
    parser.add_argument("--methods", nargs="*", default=(), help="these columns only")
    return parser.parse_args()


def gather(source: Store, store: Store, profile: str) -> None:
    """Add to a store the lines of another that it lacks, such as those of a run elsewhere."""
    for fault in (*source.faults, *store.faults):
        print(fault, file=sys.stderr)
    lacking = [line for line in source.lines(profile) if line.key not in store]
    for line in lacking:
        store.add(line)
    store.tidy()
    print(f"{len(lacking)} lines more, {sum(1 for _ in store.lines(profile))} in all")


def write_report(evidence: Evidence, folder: Path, figure: Path | None = None) -> None:
    """Write the page, the cells and the tables into a folder, and the first wide figure into a file."""
    for fault in evidence.store.faults:
        print(fault, file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        folder / "report.html": render_page(evidence),
        folder / "cells.csv": as_csv(evidence),
        folder / "tables.md": as_markdown(evidence),
    }
    wide = next((one for one in all_figures(evidence) if one.narrow), None)
    if figure is not None and wide is not None:
        texts[figure] = standalone(wide)
    for path, text in texts.items():
        with atomic_write(path) as partial:
            partial.write_text(text, encoding="utf-8")
        print(path)


def show_plan(given: argparse.Namespace) -> None:
    """Print what each column on each set will cost by the model, and by which rules it was thinned."""
    work = planned(PROFILES[given.profile], Catalogue(), given.sets, given.methods)
    total = 0.0
    for one in (one for one in work if one.trial == 0):
        cost = one.seconds * one.thinning.trials
        total += cost
        rules = "; ".join(one.thinning.rules) or "as printed"
        print(f"{one.data.name:22} {one.column.name:26} {cost:8.1f} s  {rules}")
    print(f"{seconds(total)} of one core, {seconds(total / given.workers)} on {given.workers}")


if __name__ == "__main__":
    sys.exit(main())
