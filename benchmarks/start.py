"""How long a learner waits: for the imports of a lesson, and for a kernel after `course lab`."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from course_lib import bench

PAIRS, LABS = 30, 3
TOKEN = "bench"
IMPORTS = {
    "import course_lib": "import torch, course_lib",
    "its checks and hints": "import torch; from course_lib import check, hint, mine, progress, solution",
    "the whole Transformer": "import torch, course_lib.transformer, course_lib.generation, course_lib.training",
}


def main():
    """Rows of seconds above `import torch`, in fresh processes in turn, and of seconds until a kernel has answered."""
    for what, code in IMPORTS.items():
        above = [seconds_of(code) - seconds_of("import torch") for _ in range(PAIRS)]
        row = {"what": what, "size": "above import torch", "unit": "s"}
        yield bench.figures(above, target=bench.Target(at_most=0.3), **row)
    ready = [until_a_kernel_answers() for _ in range(LABS)]
    yield bench.figures(ready, what="course lab", size="until a kernel is ready", unit="s")


def seconds_of(code):
    return bench.seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def until_a_kernel_answers():
    """Seconds from the command until a kernel that imports torch says that it is idle."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JUPYTER_RUNTIME_DIR": folder, "JUPYTER_DATA_DIR": folder}
        options = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
        command = [sys.executable, "-m", "course_lib", "lab", *options]
        began = time.perf_counter()
        lab = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            kernel = patiently(lambda: ask(port, "kernels", {"name": "python3"}), lab)
            patiently(lambda: require(ask(port, f"kernels/{kernel['id']}")["execution_state"] == "idle"), lab)
            return time.perf_counter() - began
        finally:
            lab.terminate()
            lab.wait()


def patiently(question, lab, wait=0.05, most=120):
    """The answer, asked for again until the server gives one; raises where it has ended or takes too long."""
    end = time.monotonic() + most
    while True:
        try:
            return question()
        except OSError:
            if lab.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(wait)


def require(there):
    if not there:
        raise OSError("the kernel is not ready yet")


def ask(port, what, data=None):
    """What the server's REST answers; with data, a POST."""
    headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/{what}", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
