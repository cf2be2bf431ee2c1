"""Write files so that a reader finds the old one or the new one, never a half."""

import os


def write_whole(path, data):
    """Write a file whole or not at all. data: bytes, or text, as UTF-8 with `?` for what has no such form.

    Raises OSError, which names the file; it is as before then, and nothing half-written is left beside it.
    """
    partial = path.with_name(f".{os.getpid()}.partial")
    try:
        partial.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", errors="replace"))
        os.replace(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say for which file
            error.filename = str(path)
        raise
