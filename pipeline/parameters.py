"""parameters: params.yaml -> data/parameters.json (checked as a whole whenever it changes, before other stages)."""

from pipeline.runner import Stage, run
from simckp.data.files import write_json


def main() -> None:
    """Check every parameter; a mistake in a key that no stage reads would otherwise go unseen."""
    with Stage("parameters") as stage:
        write_json(stage.entry.path("data"), stage.all_params.model_dump(by_alias=True, mode="json"))


if __name__ == "__main__":
    run(main)
