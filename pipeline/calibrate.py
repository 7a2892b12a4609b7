"""calibrate: scores of the validation documents -> evidence, thresholds of each kind and method. Argument: seed."""

from itertools import chain

from pipeline.runner import Stage, run
from pipeline.weighing import weighed, write_evidence
from simckp.data.files import write_json
from simckp.params import VALID
from simckp.thresholds.calibration import calibrate_kinds


def main(seed: str) -> None:
    """Fit the evidence of one seed's networks, and calibrate the thresholds of what it says."""
    with Stage("calibrate", seed) as stage:
        selection = stage.params.selection
        write_evidence(stage)
        thresholds = calibrate_kinds(
            chain.from_iterable(weighed(stage, VALID)),
            minimum=selection.minimum,
            limit=selection.limit,
            fixed=selection.value,
            probabilities=selection.evidence,
        )
        stage.entry.target("thresholds").write(thresholds, shard_rows=stage.params.shard_rows)
        kinds: dict[str, dict[str, dict[str, float]]] = {}
        for row in thresholds:
            figures = {name: float(row[name]) for name in ("value", "f1_at_m", "oracle_f1_at_m", "documents")}
            kinds.setdefault(row["kind"], {})[row["method"]] = figures
        write_json(stage.entry.path("metrics"), kinds)


if __name__ == "__main__":
    run(main)
