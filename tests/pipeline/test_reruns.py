"""What an edit of code reruns: one line in every folder, and the stages that ``dvc status`` names."""

import json
from pathlib import Path

import pytest

from tests.pipeline.conftest import copied
from tests.pipeline.project import run

TEXT = {"ingest", "deduplicate", "tag", "mine"}
GENERATE = {"overgenerate", "overgenerate_training"}
LEARN = {"train_extractor", *GENERATE, "train_reranker"}
RECALL = {"index", "retrieve", "package"}
WEIGH = {"calibrate", "compare_thresholds", "predict", "evaluate"}
SELECT = {*WEIGH, "evaluate_baseline"}
ALL_BUT_PARAMETERS = {*TEXT, *LEARN, *RECALL, *SELECT, "count_phrases", "score", "baseline"}
REPORTS = {"package", "visualise", "ablations", "report"}
# The first line of each file gets a comment.
EXPECTED = {
    "simckp/errors.py": set(),
    "simckp/execution.py": set(),
    "simckp/params.py": {"parameters"},
    "simckp/runtime/provenance.py": set(),
    "simckp/runtime/memory.py": set(),
    "pipeline/runner.py": set(),
    "simckp/hub/fetching.py": set(),
    "simckp/service/app.py": set(),
    "simckp/adapters/spacy.py": set(),
    "simckp/commands/data.py": set(),
    "simckp/prediction/predictor.py": set(),
    "simckp/prediction/selection.py": set(),
    "simckp/summary/summarize.py": set(),
    "simckp/data/datasets.py": {*ALL_BUT_PARAMETERS, *REPORTS, "parameters"},
    "simckp/documents/cleaning.py": {"ingest"},
    "simckp/documents/deduplication.py": {"deduplicate"},
    "simckp/candidates/tagging.py": {"tag"},
    "simckp/candidates/mining.py": {"mine"},
    "simckp/candidates/random_negatives.py": {"train_extractor"},
    "simckp/networks/losses.py": {*LEARN, "index", "retrieve", "score", "evaluate", "visualise"},
    "simckp/networks/trainer.py": {"train_extractor", "train_reranker"},
    "simckp/extraction/extractor.py": {"train_extractor", *GENERATE, "score", "visualise"},
    "simckp/extraction/training.py": {"train_extractor"},
    "simckp/generation/beam_search.py": GENERATE,
    "simckp/retrieval/memory.py": RECALL,
    "simckp/retrieval/fusion.py": {"train_reranker", "score", *WEIGH, "package", "visualise"},
    "simckp/evidence/statistics.py": {"count_phrases", *WEIGH, "package"},
    "simckp/evidence/features.py": {*WEIGH, "package"},
    "simckp/documents/sampling.py": {"train_extractor", "overgenerate_training", "retrieve", "train_reranker"},
    "simckp/reranking/reranker.py": {"train_reranker", "score", "visualise"},
    "simckp/reranking/training.py": {"train_reranker"},
    "simckp/thresholds/keyphrases.py": {*SELECT, "visualise"},
    "simckp/scoring/networks.py": {"score", "visualise"},
    "simckp/scoring/onnx.py": set(),
    "simckp/evaluation/bootstrap.py": {"compare_thresholds", "evaluate", "evaluate_baseline"},
    "simckp/evaluation/page.py": {"report"},
    "pipeline/mine.py": {"mine"},
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_edit_reruns_the_stages_whose_result_it_can_change(finished: Path, tmp_path: Path) -> None:
    project = copied(finished, tmp_path / "project")
    folders = {str(path.parent) for path in (project / "simckp").rglob("*.py") if path.parent.name != "simckp"}
    assert folders == {str(project / Path(name).parent) for name in EXPECTED} - {str(project / "simckp")} - {
        str(project / "pipeline")
    }
    assert stages_named(project) == set()
    for name, expected in EXPECTED.items():
        file = project / name
        before = file.read_bytes()
        file.write_bytes(b"# edited\n" + before)
        assert stages_named(project) == expected, name
        file.write_bytes(before)


def stages_named(project: Path) -> set[str]:
    """Return the stages that DVC would run, without their items."""
    status = run(project, "dvc", "status", "--json")
    return {name.split("@")[0] for name in json.loads(status[status.index("{") :])}
