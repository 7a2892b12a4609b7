"""Run the paper's comparisons as DVC experiments and collect their results; this is not a stage of the pipeline.

``python -m pipeline.experiments ablation negatives`` runs, one after the other, the variants of these comparisons in
experiments/variants.yaml that were not run yet; all other parameters are those of params.yaml. Without arguments, it
only collects: all experiments of ``dvc exp show``, including a user's own, are saved in experiments/collected.json, and
the stage ``ablations`` makes tables of them.
"""

import argparse
import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.runner import PARAMS
from simckp.data.files import write_json
from simckp.data.records import KINDS
from simckp.errors import ParameterError, SimCKPError
from simckp.evaluation.comparisons import Experiment, experiments_of_variants, flatten, overview
from simckp.evaluation.tables import markdown_table
from simckp.params import parse_params, read_params

COLLECTED, VARIANTS = Path("experiments/collected.json"), Path("experiments/variants.yaml")
GRIDS = Path("experiments/grids.yaml")
# The comparisons that are drawn as curves: name, axis, its label, whether it is logarithmic.
CURVES = (
    ("ngrams", "max_words", "words of the longest candidate", False),
    ("documents", "training_documents", "training documents of stage 1", True),
)
ABLATION, GENERATION = "ablation", "w/o CL"  # the variant that is also a baseline
_LOG = logging.getLogger("pipeline")


def read_variants(path: Path = VARIANTS) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the variants of each comparison, with the parameters that they change."""
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def read_collected(path: Path = COLLECTED) -> list[Experiment]:
    """Return the experiments that :func:`collect` saved."""
    return [Experiment(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def collect() -> list[Experiment]:
    """Save and return all experiments and commits of ``dvc exp show`` that have metrics, and those saved before."""
    shown = json.loads(_dvc("exp", "show", "--json", capture=True))
    by_name = {experiment.name: experiment for experiment in read_collected()} if COLLECTED.exists() else {}
    by_name |= {experiment.name: experiment for experiment in _experiments(shown)}
    write_json(COLLECTED, [asdict(experiment) for experiment in by_name.values()])
    _LOG.info("%s: %d experiments", COLLECTED, len(by_name))
    return list(by_name.values())


def _experiments(shown: list[dict[str, Any]]) -> Iterator[Experiment]:
    for commit in shown:
        lines = [commit, *(line for group in commit.get("experiments") or [] for line in group.get("revs") or [])]
        for line in lines:
            data = line.get("data")
            if not data or line.get("rev") == "workspace":
                continue
            params = data["params"].get(str(PARAMS), {}).get("data")
            metrics = {name: entry["data"] for name, entry in data["metrics"].items() if "data" in entry}
            name = line.get("name") or line["rev"][:7]
            if params and (complete := _by_set(params, metrics)):
                try:
                    checked = parse_params(params, source=name)
                except ParameterError:
                    _LOG.info("%s: made with parameters of another version; left out", name)
                else:
                    method = checked.selection.method
                    yield Experiment(name, flatten(checked.effective()), complete, _thresholds(metrics, params, method))


def _by_set(params: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return the metrics of every evaluated set and seed; None if any is missing."""
    names = {name: [f"metrics/{name}-{seed}.json" for seed in params["seeds"]] for name in params["evaluated"]}
    if any(key not in metrics for keys in names.values() for key in keys):
        return None
    return {name: [metrics[key] for key in keys] for name, keys in names.items()}


def _thresholds(metrics: Mapping[str, Any], params: Mapping[str, Any], method: str) -> dict[str, list[float]]:
    """Return the thresholds of every seed by kind."""
    seeds = [metrics.get(f"metrics/thresholds-{seed}.json", {}) for seed in params["seeds"]]
    return {kind: [seed[kind][method]["value"] for seed in seeds if method in seed.get(kind, {})] for kind in KINDS}


def queue_grid(name: str) -> None:
    """Put every combination of a grid's values into DVC's queue."""
    changes = [
        word
        for key, values in read_variants(GRIDS)[name].items()
        for word in ("-S", f"{key}={','.join(map(str, values))}")
    ]
    _dvc("exp", "run", "--queue", *changes)


def run_variants(comparison: str, variants: Mapping[str, Mapping[str, Any]], options: list[str]) -> None:
    """Run the variants without a collected experiment; afterwards ``params.yaml`` is restored."""
    before = PARAMS.read_text(encoding="utf-8")
    current = flatten(read_params(PARAMS).effective())
    for number, (name, experiment) in enumerate(experiments_of_variants(variants, collect(), current).items()):
        if experiment is not None:
            _LOG.info("%s, %s: was run (%s)", comparison, name, experiment.name)
            continue
        changes = [word for key, value in variants[name].items() for word in ("-S", f"{key}={json.dumps(value)}")]
        _LOG.info("%s, %s: %s", comparison, name, " ".join(changes) or "the parameters as they are")
        try:
            # Only as far as the metrics: nobody reads the report or packages the model of a row of a table.
            _dvc("exp", "run", *options, "-n", _free_name(f"{comparison}-{number}"), *changes, "evaluate")
        finally:
            # DVC leaves the parameters of an experiment in the workspace.
            PARAMS.write_text(before, encoding="utf-8")
        collect()


def _free_name(name: str) -> str:
    taken = {experiment.name for experiment in read_collected()}
    return next(free for free in (name, *(f"{name}-{again}" for again in range(2, 1000))) if free not in taken)


def _dvc(*arguments: str, capture: bool = False) -> str:
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE if capture else None)  # noqa: S603
    if done.returncode:
        raise SimCKPError(f"dvc {' '.join(arguments)} failed; its message stands above")
    return done.stdout or ""


def _arguments(known: Mapping[str, Any]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipeline.experiments", description=__doc__)
    parser.add_argument("comparisons", nargs="*", metavar="comparison", help=f"one of {', '.join(known)}")
    parser.add_argument("--grid", choices=list(read_variants(GRIDS)), help="queue all combinations of a grid, run none")
    parser.add_argument("--show", action="store_true", help="print a table of the collected experiments")
    parser.add_argument("--temp", action="store_true", help="run in a copy, so that the workspace does not change")
    options = parser.parse_args()
    if unknown := [name for name in options.comparisons if name not in known]:
        parser.error(f"there is no comparison {unknown[0]!r}; experiments/variants.yaml has {', '.join(known)}")
    return options


def main() -> None:
    """Run the named comparisons, queue a grid, or only collect."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    known = read_variants()
    options = _arguments(known)
    try:
        for name in options.comparisons:
            run_variants(name, known[name], ["--temp"] if options.temp else [])
        if options.comparisons:
            _dvc("repro")  # restores the workspace's own results from the run cache
        elif options.grid:
            queue_grid(options.grid)
        else:
            experiments = collect()
            if options.show:
                current = flatten(read_params(PARAMS).effective())
                print(markdown_table(overview(experiments, current)))  # noqa: T201
    except SimCKPError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
