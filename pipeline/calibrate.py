"""calibrate: scores of the validation documents -> thresholds of each kind, by every method. Argument: seed."""

from pipeline.runner import Stage, run
from simckp.data.files import write_json
from simckp.thresholds.calibration import calibrate_kinds


def main(seed: str) -> None:
    """Calibrate the thresholds of one seed's networks."""
    with Stage("calibrate", seed) as stage:
        selection = stage.params.selection
        thresholds = calibrate_kinds(
            stage.entry.source("scores").read(),
            minimum=selection.minimum,
            limit=selection.limit,
            fixed=selection.value,
        )
        stage.entry.target("thresholds").write(thresholds, shard_rows=stage.params.shard_rows)
        kinds: dict[str, dict[str, dict[str, float]]] = {}
        for row in thresholds:
            figures = {name: float(row[name]) for name in ("value", "f1_at_m", "oracle_f1_at_m", "documents")}
            kinds.setdefault(row["kind"], {})[row["method"]] = figures
        write_json(stage.entry.path("metrics"), kinds)


if __name__ == "__main__":
    run(main)
