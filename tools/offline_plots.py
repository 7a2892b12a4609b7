"""Make DVC's plots work without a network: ``python -m tools.offline_plots``.

``dvc plots diff`` and ``show`` write pages that load Vega from another host. This tool writes a template that contains
the library (from the package ``vl-convert-python``) and configures DVC to use it, for this clone only.
"""

import subprocess
import sys
from pathlib import Path

TEMPLATE = Path(".dvc/tmp/offline-plots.html")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{refresh_tag}
<title>Plots</title>
<script>LIBRARY</script>
<style>body { font-family: system-ui, sans-serif; } table { border-spacing: 15px; }</style>
</head>
<body>
{plot_divs}
</body>
</html>
"""


def page() -> str:
    """Return the template with DVC's placeholders for plots."""
    import vl_convert

    library: str = vl_convert.javascript_bundle()
    return _PAGE.replace("LIBRARY", library.replace("</script", "<\\/script"))


def main() -> int:
    """Write the template and configure DVC; return the exit code."""
    try:
        text = page()
    except ModuleNotFoundError:
        print("error: pip install vl-convert-python", file=sys.stderr)  # noqa: T201
        return 1
    TEMPLATE.parent.mkdir(parents=True, exist_ok=True)
    TEMPLATE.write_text(text, encoding="utf-8")
    command = ["dvc", "config", "--local", "plots.html_template", str(TEMPLATE.resolve())]
    return subprocess.run(command, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
