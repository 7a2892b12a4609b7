"""Real servers on loopback: SSH (OpenSSH) and S3 (SeaweedFS), each with keys and data of its own."""

import json
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

SSHD, WEED = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin"), shutil.which("weed")
_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Remote:
    """Where DVC pushes to.

    Attributes:
        url: For ``dvc remote add``.
        options: Of the remote; written to ``.dvc/config``.
        local: Of the remote; written to ``.dvc/config.local``, which is no one else's.
        environment: With the credentials.
    """

    url: str
    options: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def folder_remote(place: Path) -> Iterator[Remote]:
    """A shared folder."""
    yield Remote(str(place / "remote"))


@contextmanager
def ssh_remote(place: Path) -> Iterator[Remote]:
    """An SSH server with a host key and one user key, both made for this test."""
    port = _free_port()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    (place / "authorized").write_text((place / "user.pub").read_text(encoding="utf-8"), encoding="utf-8")
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {place / 'host'}",
        f"AuthorizedKeysFile {place / 'authorized'}",
        f"PidFile {place / 'sshd.pid'}",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "Subsystem sftp internal-sftp",
    ]
    (place / "sshd.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", place / "sshd.conf"], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        user = os.environ.get("USER") or "root"
        url = f"ssh://{user}@127.0.0.1:{port}{place / 'remote'}"
        yield Remote(url, local={"keyfile": str(place / "user")})
    finally:
        process.terminate()
        process.wait()


@contextmanager
def s3_remote(place: Path) -> Iterator[Remote]:
    """An S3 service with one identity and one bucket."""
    port = _free_port()
    key = {"accessKey": "key-of-the-test", "secretKey": "secret-of-the-test"}
    identity = {"name": "t", "credentials": [key], "actions": ["Admin", "Read", "List", "Tagging", "Write"]}
    (place / "s3.json").write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
    (place / "store").mkdir()
    options = {
        "dir": place / "store",
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.port": _free_port(),
        "volume.port": _free_port(),
        "filer.port": _free_port(),
        "s3.port": port,
        "s3.config": place / "s3.json",
        "master.volumeSizeLimitMB": 64,
        "volume.max": 20,
        "master.telemetry": "false",
    }
    command = [str(WEED), "server", "-s3", "-filer", *(f"-{name}={value}" for name, value in options.items())]
    with (place / "weed.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        secrets = {"AWS_ACCESS_KEY_ID": key["accessKey"], "AWS_SECRET_ACCESS_KEY": key["secretKey"]}
        secrets |= {"AWS_DEFAULT_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}
        _make_bucket(port, secrets)
        yield Remote("s3://team/simckp", options={"endpointurl": f"http://127.0.0.1:{port}"}, environment=secrets)
    finally:
        process.terminate()
        process.wait()


def _make_bucket(port: int, secrets: dict[str, str]) -> None:
    """DVC makes no buckets."""
    from botocore.session import get_session

    client = get_session().create_client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=secrets["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=secrets["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            client.create_bucket(Bucket="team")
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _WAIT
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"nothing answers on port {port}")


def _free_port() -> int:
    """Return a port that is free, as is the one 10,000 above it (SeaweedFS takes that too)."""
    while True:
        port = random.randrange(20_000, 50_000)
        with socket.socket() as first, socket.socket() as second, suppress(OSError):
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 10_000))
            return port
