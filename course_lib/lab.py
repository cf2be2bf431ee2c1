"""`course lab`: JupyterLab at lesson 0, with the course's folder as its root."""

import os
import sys

from course_lib.authoring.catalogue import lesson, repo_root


def open_lab(arguments, browser=True):
    """Run JupyterLab until it is closed; return its exit status.

    arguments: further ones for JupyterLab. Nothing is written to the user's Jupyter configuration.
    """
    from jupyterlab.labapp import LabApp

    root = repo_root()
    first = lesson(0).notebook
    if not first.is_file():
        print(f"course: {first.name} has not been built yet: run `course build`", file=sys.stderr)
        return 1
    options = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{first.relative_to(root).as_posix()}"]
    # An editable install brings no configuration files, so the hook that keeps pictures is switched on here.
    options.append("--ServerApp.jpserver_extensions=course_lib.explore.save_hook=True")
    if not browser:
        options.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")  # Jupyter refuses root otherwise, and containers know no other user
    os.environ["COURSE_HOME"] = str(root)  # where the kernels keep what a learner passed
    LabApp.launch_instance([*options, *arguments])
    return 0
