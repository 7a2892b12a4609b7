"""parameters: params.yaml -> data/parameters.json (checked as a whole whenever it changes, before other stages)."""

from pathlib import Path

from pipeline.runner import PARAMS, Stage, run, write_json


def main() -> None:
    """Check every parameter; a mistake in a key that no stage reads would otherwise go unseen."""
    with Stage("parameters", uses=[], inputs=[PARAMS]) as stage:
        write_json(Path("data/parameters.json"), stage.params.model_dump(by_alias=True, mode="json"))


if __name__ == "__main__":
    run(main, arguments=0)
