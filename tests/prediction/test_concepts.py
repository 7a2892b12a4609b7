"""Spellings of one phrase are one concept, and other phrases are others."""

import pytest

from simckp.prediction.concepts import concept

ONE = [
    ("time series", "Time-series", "timeseries"),
    ("analysis", "analyses"),
    ("colour modelling", "color modeling", "Colour-modelling"),
    ("optimisation", "optimization", "optimizations"),
    ("behavioural model", "behavioral models"),
    ("data centre", "data center", "datacenters"),
    ("neural network", "Neural Networks", "neural-network"),
    ("databases", "data base", "data-bases"),
    ("labelled data", "labeled data"),
    ("matrix", "matrices"),
    ("index", "indices"),
    ("e-mail", "email", "emails"),
    ("defence", "defense"),
    ("catalogue", "catalogs"),
    ("devices", "device"),
    ("CNN", "CNNs"),
    ("support vector machines", "support vector machine"),
    ("systems engineering", "system engineering"),
    ("Schrödinger equation", "Schrodinger equations"),
]
OTHERS = [
    ("C", "C++", "C#"),
    ("MC", "MCC"),
    ("l2", "l2e"),
    ("university", "universe"),
    ("time", "time series"),
    ("analyse", "analysis"),
    ("learning", "learner"),
    ("graph", "graphics"),
    ("four colours", "for colours"),
    ("class", "clas"),
    ("basis", "base"),
    ("model", "models of computation"),
]


@pytest.mark.parametrize("phrases", ONE)
def test_spellings_are_one(phrases: tuple[str, ...]) -> None:
    assert len(set(map(concept, phrases))) == 1, list(map(concept, phrases))


@pytest.mark.parametrize("phrases", OTHERS)
def test_other_phrases_are_others(phrases: tuple[str, ...]) -> None:
    assert len(set(map(concept, phrases))) == len(phrases), list(map(concept, phrases))


def test_marks_are_no_phrase() -> None:
    assert concept("?! -") == ""
