"""Hooks of the documentation site (``mkdocs.yml``): the page of commands, and names of code in docstrings."""

import re
import subprocess
import sys
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

COMMANDS = "commands.md"
# Docstrings name code as Sphinx does, :func:`simckp.text.stems`; here the name alone is shown.
_ROLE = re.compile(r":(?:mod|func|class|meth|attr|data): ?<code>~?")


def commands_page() -> str:
    """Return the page, as Typer describes the command line."""
    command = [sys.executable, "-m", "typer", "simckp.cli", "utils", "docs", "--name", "simckp", "--title", "Commands"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to the site's files."""
    files.append(File.generated(config, COMMANDS, content=commands_page()))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Show names of code without their roles."""
    return _ROLE.sub("<code>", html)
