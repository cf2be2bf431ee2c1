"""How long a learner waits: for the imports of a lesson, and for a kernel after `course lab`."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from jupyter_client import BlockingKernelClient

from course_lib import bench

PAIRS, LABS = 30, 3
TOKEN = "bench"
PATIENCE = 120  # seconds
FIRST = "import torch; from course_lib import check, hint, mine, progress, solution"


def main():
    """Rows of seconds above `import torch`, in fresh processes in turn, and of seconds until a kernel has answered."""
    above = [seconds_of(FIRST) - seconds_of("import torch") for _ in range(PAIRS)]
    row = {"what": "import course_lib, its verbs", "size": "above import torch", "unit": "s"}
    yield bench.figures(above, target=bench.Target(at_most=0.3), **row)
    ready = [until_a_kernel_answers() for _ in range(LABS)]
    yield bench.figures(ready, what="course lab", size="until a kernel is ready", unit="s")


def seconds_of(code):
    return bench.seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def until_a_kernel_answers():
    """Seconds from the command until a kernel that was asked for has run a cell."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JUPYTER_RUNTIME_DIR": folder}
        options = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
        command = [sys.executable, "-m", "course_lib", "lab", *options]
        began = time.perf_counter()
        lab = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = BlockingKernelClient(connection_file=str(Path(folder, f"kernel-{new_kernel(port, lab)}.json")))
            client.load_connection_file()
            client.start_channels()
            client.wait_for_ready(timeout=PATIENCE)
            client.execute_interactive("1 + 1", timeout=PATIENCE, output_hook=lambda message: None)
            client.stop_channels()
            return time.perf_counter() - began
        finally:
            lab.terminate()
            lab.wait()


def new_kernel(port, lab):
    """The id of a kernel that the server starts, asked for again until there is a server."""
    headers = {"Authorization": f"token {TOKEN}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/kernels", data=b"{}", headers=headers)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["id"]
        except urllib.error.URLError:
            if lab.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)
