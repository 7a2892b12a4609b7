"""The documentation: every block of code is run, here or by a test that the page names, and the site is whole."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from simckp.params import parse_params
from simckp.presets import compose
from tests.conftest import REPOSITORY
from tests.pipeline.conftest import copied
from tests.pipeline.project import run

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(?:<!-- (.+?) -->\n)?^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?:run by|not run: .*?;) (tests/\S+?\.py)")
_RUN = ("sh", "python")


class Block(NamedTuple):
    """A block of code: the comment above it, its language, its lines."""

    note: str
    language: str
    code: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


WITH_CODE = [page for page in PAGES if any(not block.note and block.language in _RUN for block in blocks(page))]


def test_every_block_says_what_it_is_and_who_runs_it() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in (*_RUN, "yaml", "json", "text"), f"{name(page)}: a block of {block.language!r}"
            if block.note:
                assert block.note.startswith(("run by tests/", "not run: ")), f"{name(page)}: {block.note}"
            for path in _NAMED.findall(block.note):
                assert (REPOSITORY / path).is_file(), f"{name(page)}: {path}"
            if block.language == "python":
                ast.parse(block.code)
            if block.language == "json":
                json.loads(block.code)
    assert len(WITH_CODE) > 4


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_parameters_of_the_pages_are_valid(page: Path) -> None:
    yaml = YAML(typ="safe", pure=True)
    tree: dict[str, Any] = yaml.load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    for block in blocks(page):
        if block.language == "yaml":
            changes = {"evaluated": ["valid"], "report": {"visualised": "valid"}} | yaml.load(block.code)
            parse_params(compose(tree, changes), source=name(page))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Path:
    project = copied(finished, tmp_path_factory.mktemp("docs") / "project")
    shutil.copytree(REPOSITORY / "presets", project / "presets")
    return project


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs(page: Path, project: Path) -> None:
    """The blocks of a page run one after another; those in Python know what earlier ones defined."""
    known = ""
    for block in blocks(page):
        if block.note or block.language not in _RUN:
            continue
        if block.language == "python":
            known += block.code
            continue
        run(project, "bash", "-euo", "pipefail", "-c", block.code)
    if known:
        run(project, sys.executable, "-W", "error::UserWarning:__main__", "-c", known)
    run(project, "git", "restore", "params.yaml")


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    commands = (tmp_path / "commands.html").read_text(encoding="utf-8")
    assert "simckp summarize" in commands
    for page in pages:
        html = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:[^"]+)"', html)
        assert loaded == [], f"{page.name} loads {loaded}"
        assert ":func:" not in html
