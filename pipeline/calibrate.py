"""calibrate: scores of the validation set -> thresholds of each kind, by every method. Argument: seed."""

from pathlib import Path

from pipeline.runner import Stage, run, write_json
from simckp.data import datasets
from simckp.params import VALID
from simckp.thresholds.calibration import calibrate_kinds


def main(seed: str) -> None:
    """Find the thresholds of one seed's networks."""
    source = Path("data/scores", seed, VALID)
    uses = ["selection.minimum", "selection.limit", "selection.value", "shard_rows"]
    with Stage("calibrate", seed, uses=uses, inputs=[source]) as stage:
        found = calibrate_kinds(
            datasets.read_dataset(source, name="scores"),
            minimum=stage.params.selection.minimum,
            limit=stage.params.selection.limit,
            fixed=stage.params.selection.value,
        )
        datasets.write_dataset(
            Path("data/thresholds", seed), found, name="thresholds", shard_rows=stage.params.shard_rows
        )
        kinds: dict[str, dict[str, dict[str, float]]] = {}
        for row in found:
            figures = {name: float(row[name]) for name in ("value", "f1_at_m", "oracle_f1_at_m", "documents")}
            kinds.setdefault(row["kind"], {})[row["method"]] = figures
        write_json(Path(f"metrics/thresholds-{seed}.json"), kinds)


if __name__ == "__main__":
    run(main, arguments=1)
