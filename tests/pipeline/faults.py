"""Break a run at random moments and see that nothing is lost: ``python -m tests.pipeline.faults --kills 60``.

A project on the tiny network is run once, undisturbed. In a copy of it each stage is made to run again and killed
(everything, DVC alone, or the stage alone), then run to its end; its outputs must have the very bytes of the
undisturbed run. Then come files that are damaged on disk, a cache that is damaged, two runs at once, a full disk, a
cache that cannot be written, a killed queue worker, an interrupted push.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from tests.pipeline.project import files, kill, make_project, run, stages_run, start

BUSY = ("already running", "is busy", "Unable to acquire lock", "currently locked")
LOCK_DAMAGED = re.compile(r"dvc\.lock'? .*(failed|invalid|corrupted|unable)")
VICTIMS = ("all", "dvc", "stage")
_WAIT = 120.0


@dataclass(slots=True)
class Row:
    """What was seen of one fault in one stage."""

    stage: str
    fault: str
    runs: int = 0
    resumed: int = 0
    equal: int = 0
    said: set[str] = field(default_factory=set)


class Table:
    """Rows by stage and fault."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}

    def note(self, stage: str, fault: str, *, equal: bool, resumed: bool = False, said: str = "") -> None:
        """Count one trial."""
        row = self.rows.setdefault((stage, fault), Row(stage, fault))
        row.runs += 1
        row.resumed += resumed
        row.equal += equal
        if said:
            row.said.add(said)

    @property
    def complete(self) -> bool:
        """Whether every trial ended with the right bytes."""
        return all(row.equal == row.runs for row in self.rows.values())

    def __str__(self) -> str:
        lines = ["| stage | fault | runs | resumed | bytes equal |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {r.stage} | {r.fault} | {r.runs} | {r.resumed} | {r.equal} |" for r in self.rows.values()]
        said = sorted({text for r in self.rows.values() for text in r.said})
        return "\n".join([*lines, *(f"\nsaid on the way: {text}" for text in said)])


@dataclass(frozen=True, slots=True)
class Project:
    """A finished project, and what its stages made.

    Attributes:
        folder: Broken and mended again.
        outputs: Of each stage, without its record (which names the time).
        expected: The bytes of every output.
    """

    folder: Path
    outputs: dict[str, list[str]]
    expected: dict[str, dict[str, bytes]]

    @classmethod
    def of(cls, folder: Path) -> "Project":
        """Take a folder as it is for the undisturbed run."""
        lock = YAML(typ="safe", pure=True).load((folder / "dvc.lock").read_text(encoding="utf-8"))
        listed = run(folder, "dvc", "stage", "list", "--name-only").split()
        outputs = {
            name: [o["path"] for o in lock["stages"][name]["outs"] if not o["path"].startswith("provenance/")]
            for name in listed
        }
        return cls(folder, outputs, {name: files(folder, paths) for name, paths in outputs.items()})

    def differing(self, stage: str) -> list[str]:
        """Return the files of a stage that are not those of the undisturbed run: missing, additional or changed."""
        found, expected = files(self.folder, self.outputs[stage]), self.expected[stage]
        model = "models/simckp/provenance.json"  # names the times of the records that it gathers
        return sorted(k for k in found.keys() | expected if found.get(k) != expected.get(k) and k != model)

    def is_whole(self, stage: str) -> bool:
        """Say whether a stage's outputs are those of the undisturbed run."""
        return not self.differing(stage)

    def repro(self, *options: str) -> str:
        """Run DVC to its end, doing what docs/teams.md says on the way.

        While an orphan of a killed run is at work it is waited for; a record that was cut off while DVC wrote it is
        taken from Git.

        Raises:
            AssertionError: It does not end well.
        """
        deadline = time.monotonic() + _WAIT
        said = ""
        while True:
            output = run(self.folder, "dvc", "repro", *options, check=False)
            if "ERROR" not in output and "failed" not in output:
                return said + output
            if LOCK_DAMAGED.search(output):
                run(self.folder, "git", "checkout", "-q", "dvc.lock")
            elif not any(text in output for text in BUSY):
                raise AssertionError(f"dvc repro {' '.join(options)}:\n{output[-3000:]}")
            assert time.monotonic() < deadline, output[-3000:]
            said += output
            time.sleep(0.5)


def family(name: str) -> str:
    """Return a stage's name without its item."""
    return name.partition("@")[0]


def kill_stages(project: Project, table: Table, *, kills: int, dice: random.Random, only: str = "") -> None:
    """Kill each stage (of those whose name begins with ``only``) as often as the others, and finish it."""
    names = [name for name in project.outputs if name.startswith(only)]
    chosen = (names * (kills // len(names) + 1))[: kills - kills % len(names)]
    chosen += dice.sample(names, kills % len(names))
    seconds: dict[str, float] = {}
    for name in sorted(chosen, key=names.index):
        if name not in seconds:
            begun = time.monotonic()
            project.repro("-s", "-f", name)
            seconds[name] = time.monotonic() - begun
        victim = dice.choice(VICTIMS)
        process = start(project.folder, "dvc", "repro", "-s", "-f", name)
        wait_for_the_moment(project.folder, name, process, seconds[name], dice)
        strike(process, project.folder, victim)
        output = project.repro("-s", "-f", name)  # computed, not taken from the cache of runs
        said = next((text for text in BUSY if text in output), "")
        if damaged := LOCK_DAMAGED.search(output):
            said = damaged[0]
        wait_for_orphans(project.folder)
        if differing := project.differing(name):
            said = f"{name} after kill -9 of {victim}: {', '.join(differing)} not as before\n{output[-2000:]}"
        table.note(
            family(name),
            f"kill -9 of {victim}",
            equal=not differing,
            resumed="goes on from" in output,
            said=said,
        )


def wait_for_the_moment(
    folder: Path, name: str, process: "subprocess.Popen[bytes]", seconds: float, dice: random.Random
) -> None:
    """Wait for any moment of a run or, every other time, for one at which a part of the work is saved already."""
    begun = time.monotonic()
    if dice.random() < 0.5:
        time.sleep(dice.uniform(0.0, seconds))
        return
    stage, _, item = name.partition("@")
    saved = f".scratch/{stage}/{item or 'all'}/*/*"
    while process.poll() is None and time.monotonic() < begun + seconds and not list(folder.glob(saved)):
        time.sleep(0.005)
    time.sleep(dice.uniform(0.0, 0.2))


def strike(process: "subprocess.Popen[bytes]", folder: Path, victim: str) -> None:
    """Kill a whole run, DVC without the stage that it started, or the stage without DVC."""
    if victim == "dvc":
        process.kill()
        process.wait()
        return
    if victim == "stage":
        for pid in stage_processes(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        return
    kill(process)


def processes() -> Iterator[tuple[int, Path, bytes]]:
    """Yield every process that can be looked at: number, working folder, command."""
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if place.name.isdigit():
                yield int(place.name), (place / "cwd").resolve(), (place / "cmdline").read_bytes()


def stage_processes(folder: Path) -> list[int]:
    """Return the processes of stages that work in a folder."""
    return [pid for pid, cwd, command in processes() if b"pipeline." in command and cwd == folder.resolve()]


def wait_for_orphans(folder: Path) -> None:
    """Wait until no stage works in a folder.

    An orphan that was still importing its libraries when DVC was killed may come after a warm stage that has none to
    import, and write the same outputs once more.
    """
    deadline = time.monotonic() + _WAIT
    while stage_processes(folder):
        assert time.monotonic() < deadline, folder
        time.sleep(0.05)


def damage_outputs(project: Project, table: Table, *, dice: random.Random, most: int | None = None) -> None:
    """Flip a bit of an output, or cut it; DVC sees that it is not what the stage made, and makes it again."""
    names = [name for name, paths in project.outputs.items() if paths]
    for name in names if most is None else dice.sample(names, most):
        for fault in ("bit flip", "truncation"):
            path = dice.choice([p for o in project.outputs[name] for p in _files_of(project.folder / o)])
            content = bytearray(path.read_bytes())
            if fault == "bit flip":
                content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
            _replace(path, bytes(content[: len(content) // 2]) if fault == "truncation" else bytes(content))
            output = project.repro("-s", name)
            whole = project.is_whole(name)
            table.note(family(name), f"{fault} of an output", equal=whole, said="" if whole else output[-300:])


def damage_cache(project: Project, table: Table, *, dice: random.Random) -> None:
    """Flip a bit in the cache; `python -m pipeline.check_cache` finds it, and the stage makes it again."""
    objects = [p for p in (project.folder / ".dvc/cache/files/md5").rglob("*") if p.is_file() and p.stat().st_size > 99]
    for path in dice.sample(objects, 5):
        content = bytearray(path.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        _replace(path, bytes(content))
        output = run(project.folder, sys.executable, "-m", "pipeline.check_cache", check=False)
        found = f"{path.parent.name}{path.name}" in output and not path.exists()
        project.repro()
        whole = all(project.is_whole(name) for name in project.outputs)
        table.note("(cache)", "bit flip of an object", equal=found and whole)


def run_twice(project: Project, table: Table) -> None:
    """Start DVC twice; one works, the other says so; afterwards all is there."""
    name = "overgenerate_training@13"
    first, second = (start(project.folder, "dvc", "repro", "-s", "-f", name) for _ in range(2))
    for process in (first, second):
        process.wait(_WAIT)
    project.repro("-s", name)
    one_worked = 0 in (first.returncode, second.returncode)
    table.note(family(name), "two at once", equal=one_worked and project.is_whole(name))


def fill_disk(project: Project, table: Table) -> None:
    """Let the disk be full while a stage writes; after there is room again it goes on."""
    with _mounted(project.folder / ".scratch", "size=12k") as possible:
        if possible:
            name = "overgenerate_training@13"
            output = run(project.folder, "dvc", "repro", "-s", "-f", name, check=False)
            said = "No space left on device" in output and "Traceback" not in output
    if possible:
        project.repro("-s", name)
        table.note(family(name), "full disk", equal=said and project.is_whole(name))
    name = "tag@train"
    with _mounted(project.folder / "data/tagged", "size=4k") as possible:
        if possible:
            output = run(project.folder, sys.executable, "-m", "pipeline.tag", "train", check=False)
            said = "error: No space left on device" in output and "Traceback" not in output
    if possible:
        project.repro("-s", name)
        table.note(family(name), "full disk", equal=said and project.is_whole(name))


def forbid_cache(project: Project, table: Table) -> None:
    """Let the cache be read-only: DVC says so; after it can be written again the stage is recorded."""
    name, cache = "mine@train", project.folder / ".dvc/cache"
    shutil.rmtree(project.folder / "data/candidates/train")
    shutil.rmtree(cache / "runs", ignore_errors=True)
    for path in list((cache / "files/md5").rglob("*")):
        if path.is_file() and path.read_bytes() in project.expected[name].values():
            path.unlink()
    if not _try("mount", "--bind", str(cache), str(cache)):
        return
    try:
        _try("mount", "-o", "remount,ro,bind", str(cache))
        output = run(project.folder, "dvc", "repro", "-s", "-f", name, check=False)
    finally:
        _try("umount", str(cache))
    said = "Read-only file system" in output and "Traceback" not in output
    project.repro("-s", name)
    table.note(family(name), "read-only cache", equal=said and project.is_whole(name))


def kill_queue_worker(project: Project, table: Table) -> None:
    """Kill the worker of a queue with its experiment; what docs/teams.md says then finishes the queue."""
    folder = project.folder
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-qm", "before the queue", "--allow-empty")
    run(folder, "dvc", "exp", "run", "--queue", "-S", "lambda=0.5", "-n", "broken")
    start(folder, "dvc", "queue", "start").wait(_WAIT)  # not by run(): the worker would hold its output open
    deadline = time.monotonic() + _WAIT
    while not list(folder.glob(".scratch/train_extractor/13/*/checkpoint-*")):
        assert time.monotonic() < deadline, run(folder, "dvc", "queue", "status", check=False)
        time.sleep(0.005)
    struck = queue_processes(folder)
    for process in struck:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    time.sleep(1)
    for command in RECOVER_QUEUE:
        run(folder, *command.split())
    status = run(folder, "dvc", "queue", "status", check=False)
    equal = bool(struck) and "Success" in status and "Failed" not in status
    resumed = "goes on from" in run(folder, "dvc", "queue", "logs", "again")
    table.note("(queue)", "kill -9 of the worker", equal=equal, resumed=resumed)


def queue_processes(folder: Path) -> list[int]:
    """Return the worker of a project's queue, the run that it started, and that run's stage."""
    folder = folder.resolve()
    return [
        pid
        for pid, cwd, command in processes()
        if (cwd == folder and b"queue-worker" in command) or cwd.is_relative_to(folder / ".dvc/tmp/exps")
    ]


RECOVER_QUEUE = (
    "dvc queue kill broken",  # DVC would call it running for ever, and wait for it
    "dvc queue remove --all",
    "dvc exp run --queue -S lambda=0.5 -n again",
    "dvc exp run --run-all",
)


def interrupt_push(project: Project, table: Table, *, dice: random.Random) -> None:
    """Kill a push; the next one completes it, and a clone gets everything."""
    with tempfile.TemporaryDirectory() as place:
        remote, clone = Path(place, "remote"), Path(place, "clone")
        run(project.folder, "dvc", "remote", "add", "-f", "-d", "shared", str(remote))
        run(project.folder, "git", "add", "-A")
        run(project.folder, "git", "commit", "-qm", "remote", "--allow-empty")
        for _ in range(3):
            process = start(project.folder, "dvc", "push", "--run-cache")
            time.sleep(dice.uniform(0.5, 2.5))
            kill(process)
        run(project.folder, "dvc", "push", "--run-cache")
        run(Path(place), "git", "clone", "-q", str(project.folder), str(clone))
        run(clone, "dvc", "pull", "--run-cache")
        ran = stages_run(run(clone, "dvc", "repro"))
        copy = Project(clone, project.outputs, project.expected)
        whole = all(copy.is_whole(name) for name in project.outputs)
        table.note("(push)", "kill -9", equal=whole and not ran)


def _replace(path: Path, content: bytes) -> None:
    """Write a file anew: the cache may hold the old one by a link."""
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(content)
    path.chmod(mode)


def _files_of(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


@contextlib.contextmanager
def _mounted(folder: Path, options: str) -> Iterator[bool]:
    """Give a folder a small disk of its own; False where that is not allowed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    possible = _try("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield possible
    finally:
        if possible:
            _try("umount", str(folder))


def _try(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


FAULTS: dict[str, Callable[[Project, Table, random.Random, argparse.Namespace], None]] = {
    "kills": lambda project, table, dice, given: kill_stages(
        project, table, kills=given.kills, dice=dice, only=given.only
    ),
    "outputs": lambda project, table, dice, _: damage_outputs(project, table, dice=dice),
    "cache": lambda project, table, dice, _: damage_cache(project, table, dice=dice),
    "twice": lambda project, table, *_: run_twice(project, table),
    "disk": lambda project, table, *_: fill_disk(project, table),
    "read-only": lambda project, table, *_: forbid_cache(project, table),
    "queue": lambda project, table, *_: kill_queue_worker(project, table),
    "push": lambda project, table, dice, _: interrupt_push(project, table, dice=dice),
}


def main() -> int:
    """Print the table; 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--only", default="", help="kill stages whose name begins so")
    parser.add_argument("faults", nargs="*", metavar="fault", help=f"of {', '.join(FAULTS)}; without any, all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if unknown := [name for name in options.faults if name not in FAULTS]:
        parser.error(f"there is no fault {unknown[0]!r}; there are {', '.join(FAULTS)}")
    dice, table = random.Random(options.seed), Table()
    print(f"seed {options.seed}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as place:
        folder = make_project(Path(place, "project"), tiny_network(Path(place)))
        run(folder, "dvc", "repro")
        run(folder, "git", "add", "-A")
        run(folder, "git", "commit", "-qm", "results")
        project = Project.of(folder)
        try:
            for name in options.faults or FAULTS:
                FAULTS[name](project, table, dice, options)
        finally:
            print(table)  # noqa: T201
    return 0 if table.complete else 1


def tiny_network(folder: Path) -> Path:
    """Make the tests' random network."""
    from tests.conftest import make_tiny_bert

    return make_tiny_bert(folder / "tiny-bert")


if __name__ == "__main__":
    sys.exit(main())
