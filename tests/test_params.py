"""Parameters fail early, with the dotted key and the nearest valid one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from ruamel.yaml import YAML

from simckp.data.records import Source
from simckp.errors import ParameterError
from simckp.params import Generation, parse_params, read_params
from tests.conftest import REPOSITORY


@pytest.fixture
def tree() -> Any:
    return YAML(typ="safe", pure=True).load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))


def test_repository_parameters_are_valid() -> None:
    params = read_params(REPOSITORY / "params.yaml")
    assert params.lambda_ == 1.0
    assert params.mining.max_words == 6
    assert params.generation.beams == 50


def _set(*keys: str, value: Any) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for key in keys[:-1]:
            tree = tree[key]
        tree[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("lamda", value=0.5), "unknown parameter 'lamda'; did you mean 'lambda'?"),
        (_set("extractor", "learning_rat", value=1e-4), "did you mean 'extractor.learning_rate'?"),
        (_set("corpora", "train", "pth", value="x"), "did you mean 'corpora.train.path'?"),
        (lambda tree: tree.pop("limit"), "parameter 'limit' is missing"),
        (lambda tree: tree["reranker"].pop("positives"), "parameter 'reranker.positives' is missing"),
        (_set("lambda", value="abc"), "parameter 'lambda' is 'abc'"),
        (_set("lambda", value=-0.1), "parameter 'lambda' is -0.1"),
        (_set("lambda", value=float("nan")), "parameter 'lambda' is nan"),
        (_set("mining", "max_words", value=0), "parameter 'mining.max_words' is 0"),
        (_set("extractor", "batch_size", value=2.5), "parameter 'extractor.batch_size' is 2.5"),
        (_set("reranker", "shared_encoder", value="False"), "parameter 'reranker.shared_encoder' is 'False'"),
        (_set("extractor", "reduction", value="men"), "'mean' or 'sum'"),
        (lambda tree: tree["corpora"].pop("valid"), "corpora.valid is missing"),
        (_set("evaluated", value=["valid", "kp20"]), "evaluated: 'kp20' is none of ['valid', 'sample']"),
        (_set("evaluated", value=["sample"]), "must list 'valid'"),
        (_set("seeds", value=[1, 1]), "names a seed twice"),
        (_set("tagger", "name", value="corenlp"), "tagger.url must name the CoreNLP server"),
        (_set("corpora", "../x", value={"path": "p", "files": None}), "may only have letters, digits and '_'"),
    ],
)
def test_a_mistake_names_its_key(tree: Any, change: Callable[[Any], None], message: str) -> None:
    change(tree)
    with pytest.raises(ParameterError) as caught:
        parse_params(tree, source="params.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("params.yaml: ")


def test_every_mistake_is_named_at_once(tree: Any) -> None:
    tree["lamda"] = 1
    tree["limit"] = -3
    with pytest.raises(ParameterError) as caught:
        parse_params(tree, source="p")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "no valid YAML"), ("lambda: 1\nlambda: 2\n", "no valid YAML"), ("- 1\n", "expected a mapping")],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        read_params(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no such parameter file"):
        read_params(tmp_path / "none.yaml")


def test_scientific_notation_of_dvc_is_a_number(tree: Any, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    text = (REPOSITORY / "params.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("lambda: 1.0 ", "lambda: 3e-05 "), encoding="utf-8")
    assert read_params(path).lambda_ == 3e-5


def test_the_sources_are_those_of_the_rows() -> None:
    sources, _ = get_args(Generation.model_fields["sources"].annotation)
    assert get_args(sources) == get_args(Source)
    assert hash(read_params(REPOSITORY / "params.yaml").generation)  # networks are cached by it
