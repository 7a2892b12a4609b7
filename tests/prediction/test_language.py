"""A text that is plainly not English gets a warning; English of any kind gets none."""

import json
from pathlib import Path

import pytest

from simckp.prediction.language import language_warnings

OTHERS = {
    "German": (
        "Wir untersuchen, wie man Graphen mit wenigen Farben so färbt, dass keine zwei Knoten, die durch"
        " eine Kante verbunden sind, die gleiche Farbe haben, und zeigen, dass das auch für große Netze "
        "noch schnell geht."
    ),
    "French": (
        "Nous étudions la manière de colorier un graphe avec peu de couleurs, de sorte que deux sommets "
        "reliés par une arête n'aient pas la même couleur, et nous montrons que cela est possible dans "
        "les grands réseaux."
    ),
    "Spanish": (
        "Estudiamos cómo colorear un grafo con pocos colores de modo que dos vértices unidos por una "
        "arista no tengan el mismo color, y mostramos que esto también es posible para las redes muy "
        "grandes de hoy."
    ),
    "Portuguese": (
        "Estudamos como colorir um grafo com poucas cores, de modo que dois vértices ligados por uma "
        "aresta não tenham a mesma cor, e mostramos que isso também é possível para as redes muito "
        "grandes de hoje."
    ),
    "Dutch": (
        "Wij onderzoeken hoe men een graaf met weinig kleuren zo kleurt dat geen van de knopen die door "
        "een kant zijn verbonden dezelfde kleur heeft, en laten zien dat het ook voor grote netwerken "
        "nog snel kan."
    ),
}


@pytest.mark.parametrize("language", OTHERS)
def test_another_language_is_named(language: str) -> None:
    assert language_warnings(OTHERS[language]) == [f"the text looks {language}; the model was trained on English"]


@pytest.mark.parametrize(
    "text", ["Мы изучаем раскраску графов и поиск с запретами", "我们研究图的着色问题以及禁忌搜索方法"]
)
def test_another_script_is_said(text: str) -> None:
    (warning,) = language_warnings(text)
    assert "script" in warning


@pytest.mark.parametrize(
    "text",
    [
        "",
        "( ) ? !",
        "Tabu search",
        "graph colouring, tabu search, simulated annealing, frequency assignment, timetabling, register allocation, "
        "combinatorial optimisation, metaheuristics, benchmark instances, hybrid evolutionary algorithms",
        "We study the colouring of graphs by the method of Leighton, die Färbung von Graphen, with tabu search and "
        "show that it is as good as the best known methods on all of the instances of the benchmark.",
        "für die der das und",
        "naïve Bayes and Schrödinger's α-equation with λ and μ as parameters of the model that we use in all of this",
    ],
)
def test_english_and_what_is_too_short_are_left_alone(text: str) -> None:
    assert language_warnings(text) == []


def test_of_2_200_real_documents_only_the_german_one_is_warned_of(shared: Path) -> None:
    warned = []
    for name in ("kp20k_valid", "inspec_valid", "krapivin_test", "nus_test", "semeval_train"):
        for line in (shared / f"data/{name}.jsonl").read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            if found := language_warnings(f"{document['title']} {document['abstract']}"):
                warned.append((document["id"], *found))
    assert warned == [("kp20k-valid-598", "the text looks German; the model was trained on English")]
