"""parameters: params.yaml -> data/parameters.json (all of it is checked whenever it changes, before other stages)."""

from pipeline.runner import Stage, run
from simckp.data.files import write_json


def main() -> None:
    """Check every parameter; otherwise an error in a key that no stage reads would not be noticed."""
    with Stage("parameters") as stage:
        write_json(stage.entry.path("data"), stage.all_params.model_dump(by_alias=True, mode="json"))


if __name__ == "__main__":
    run(main)
