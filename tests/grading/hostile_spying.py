"""Answers that look for the answer, and such as leave something for whoever comes next: nothing is there."""

from .hostile_notebooks import PASSED, failed, lists

SPYING, handed_in = lists()


@handed_in(5, masked_attention=failed("not available", flagged=True))
def calls_the_twin_in_the_library(learner):
    learner.answer(
        "masked_attention",
        """
        from course_lib.attention import scaled_dot_product_attention
        def masked_attention(query, key, value, mask):
            return scaled_dot_product_attention(query, key, value, mask=mask)
        """,
    )


@handed_in(6, MultiHeadAttention=failed("not available", flagged=True))
def subclasses_the_twin_in_the_library(learner):
    learner.answer(
        "MultiHeadAttention",
        "from course_lib.multi_head_attention import MultiHeadAttention as M\nclass MultiHeadAttention(M):\n    pass",
    )


@handed_in(5, padding_mask=failed("ModuleNotFoundError", flagged=True))
def imports_the_reference(learner):
    learner.answer("padding_mask", "from course_lib.exercises.lesson_05.padding_mask import padding_mask")


@handed_in(5, padding_mask=failed("ModuleNotFoundError", flagged=True))
def imports_the_engine(learner):
    learner.answer(
        "padding_mask",
        "def padding_mask(ids, pad):\n    from course_lib.checking.engine import expected\n    return expected(5, 0)",
    )


@handed_in(5, padding_mask=failed("found nothing", flagged=True), dangerous=True)
def reads_all_files(learner):
    """Whoever could read would find the reference, the solutions, other submissions or the secret by a word in it."""
    learner.answer(
        "padding_mask",
        """
        import os
        def padding_mask(ids, pad):
            found = []
            for folder, folders, files in os.walk("/"):
                if folder.startswith(("/proc", "/usr/share", "/usr/lib")) or "/site-packages" in folder:
                    folders.clear()
                for name in files:
                    path = os.path.join(folder, name)
                    if "solution" in path or "exercise" in path or name.endswith((".ipynb", "grades.csv")):
                        found.append(path)
                    elif name.endswith(".py") and folder.startswith("/course") and "ids != pad" in open(path).read():
                        found.append(path)
            raise RuntimeError(f"found {found[:5] or 'nothing'}")
        """,
    )


@handed_in(5, padding_mask=failed("found 0"))
def looks_into_all_objects_and_frames(learner):
    """The reference's values would be booleans of the shape that is wanted; the judge's frames would hold them."""
    learner.answer(
        "padding_mask",
        """
        import gc, inspect, sys
        def padding_mask(ids, pad):
            wanted = (ids.shape[0], 1, ids.shape[1])
            objects = [one for frame in inspect.stack() for one in frame.frame.f_locals.values()] + gc.get_objects()
            found = [one for one in objects if type(one) is torch.Tensor and one.shape == wanted]
            raise RuntimeError(f"found {sum(one.dtype is torch.bool for one in found)}")
        """,
    )


@handed_in(5, padding_mask=failed("refused 4"))
def opens_connections(learner):
    learner.answer(
        "padding_mask",
        """
        import socket, urllib.request
        def padding_mask(ids, pad):
            refused = 0
            for way in (
                lambda: socket.create_connection(("127.0.0.1", 80), 2),
                lambda: socket.create_connection(("127.0.0.1", 9), 2),
                lambda: socket.socket(socket.AF_UNIX).connect("/run/docker.sock"),
                lambda: urllib.request.urlopen("http://127.0.0.1:9/", timeout=2),
            ):
                try:
                    way()
                except OSError as error:
                    refused += "not permitted" in str(error)
            raise RuntimeError(f"refused {refused}")
        """,
    )


@handed_in(5, padding_mask=failed("refused 6"), dangerous=True)
def writes_everywhere(learner):
    learner.answer(
        "padding_mask",
        """
        import os, sys, tempfile
        def padding_mask(ids, pad):
            refused = 0
            for folder in ("/", "/tmp", "/dev/shm", "/course/course_lib", sys.prefix, os.path.dirname(torch.__file__)):
                try:
                    open(os.path.join(folder, "left"), "w")
                except OSError:
                    refused += 1
            raise RuntimeError(f"refused {refused}")
        """,
    )


@handed_in(5, padding_mask=PASSED, dangerous=True)
def leaves_all_it_can(learner):
    """In its folder, in that folder's own attributes, in memory of the system, in threads; see test_walls."""
    learner.finish(
        "padding_mask",
        """
        for way in LEAVE:
            try:
                way()
            except (OSError, RuntimeError):
                pass
        """,
        top="""
        import ctypes, os, threading, time
        libc = ctypes.CDLL(None)
        LEAVE = [
            lambda: os.makedirs("closed/deep/deeper"),
            lambda: open("closed/note", "w").write("for the next one"),
            lambda: os.chmod("closed/deep", 0),
            lambda: os.chmod("closed", 0),
            lambda: os.symlink("/", "everything"),
            lambda: os.setxattr(".", "user.note", b"for the next one"),
            lambda: os.chmod(".", 0o500),
            lambda: libc.semget(4242, 1, 0o1666),
            lambda: libc.shmget(4242, 4096, 0o1666),
            lambda: libc.msgget(4242, 0o1666),
            lambda: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start(),
            lambda: os.fork(),
        ]
        """,
    )


@handed_in(5, padding_mask=failed("left: []"), dangerous=True)
def looks_for_what_was_left(learner):
    learner.answer(
        "padding_mask",
        """
        import ctypes, os, stat
        libc = ctypes.CDLL(None)
        def padding_mask(ids, pad):
            left = os.listdir(".") + (os.listxattr(".") if hasattr(os, "listxattr") else [])
            left += [call.__name__ for call in (libc.semget, libc.shmget, libc.msgget) if call(4242, 0, 0, 0) >= 0]
            left += [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
            left += [oct(os.stat(".").st_mode)] if not os.access(".", os.W_OK) else []
            raise RuntimeError(f"left: {left}")
        """,
    )
