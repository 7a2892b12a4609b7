"""calibrate: scores of the validation set -> thresholds, one of each kind. Argument: seed."""

from pathlib import Path

from pipeline.runner import Stage, run, write_json
from simckp import datasets
from simckp.params import VALID
from simckp.selection import calibrate_kinds


def main(seed: str) -> None:
    """Find the thresholds of one seed's networks."""
    source = Path("data/scores", seed, VALID)
    uses = ["selection", "shard_rows"]
    with Stage("calibrate", seed, uses=uses, inputs=[source]) as stage:
        selection = stage.params.selection
        found = calibrate_kinds(
            datasets.read_dataset(source, name="scores"), method=selection.method, minimum=selection.minimum
        )
        datasets.write_dataset(
            Path("data/thresholds", seed), found, name="thresholds", shard_rows=stage.params.shard_rows
        )
        write_json(
            Path(f"metrics/thresholds-{seed}.json"),
            {row["kind"]: {key: value for key, value in row.items() if key != "kind"} for row in found},
        )


if __name__ == "__main__":
    run(main, arguments=1)
