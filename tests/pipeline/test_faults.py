"""A short form of the fault suite; ``make faults`` runs all of it."""

import random
from pathlib import Path

import pytest

from tests.pipeline import faults
from tests.pipeline.conftest import copied

SEED = random.SystemRandom().randrange(10**6)


@pytest.fixture(scope="module")
def project(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> faults.Project:
    return faults.Project.of(copied(finished, tmp_path_factory.mktemp("broken") / "project"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_and_damage_at_random_lose_nothing(project: faults.Project) -> None:
    table, dice = faults.Table(), random.Random(SEED)
    faults.kill_stages(project, table, kills=4, dice=dice)
    faults.damage_outputs(project, table, dice=dice, most=2)
    assert table.complete, f"seed {SEED}\n{table}"
    assert len(table.rows) >= 4


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_full_disk_says_so(project: faults.Project) -> None:
    table = faults.Table()
    faults.fill_disk(project, table)
    if not table.rows:
        pytest.skip("this user may not mount")
    assert table.complete, str(table)
