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
    if not os.access(first.parent, os.W_OK):
        print(
            f"course: {first.parent} cannot be written: lessons run there, but nothing you write can be saved. "
            "Copy the course's folder to a place of your own and start it there",
            file=sys.stderr,
        )
    options = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{first.relative_to(root).as_posix()}"]
    # An editable install brings no configuration files, so the hook that keeps pictures is switched on here.
    options.append("--ServerApp.jpserver_extensions=course_lib.explore.save_hook=True")
    if not browser:
        options.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")  # Jupyter refuses root otherwise, and containers know no other user
    # Where the kernels, which run in another folder, keep what a learner passed.
    os.environ["COURSE_HOME"] = os.path.abspath(os.environ.get("COURSE_HOME") or root)
    try:
        LabApp.launch_instance([*options, *arguments])
    except OSError as error:
        print(
            f"course: JupyterLab cannot go on: {error}. It keeps its settings in your home folder; set the variable "
            "HOME to a folder that you can write if that is the trouble",
            file=sys.stderr,
        )
        return 1
    return 0
