"""What one answer's process may take: memory, processor time, open files, file size; then the system-call filter."""

import os
import resource

from . import seccomp

MEMORY = 1536 << 20  # bytes beyond what the warm process holds
FILE_SIZE, OPEN_FILES = 16 << 20, 64


def restrict(seconds):
    """Limit this process for good. seconds: of processor time."""
    pages = int(open("/proc/self/statm").read().split()[0]) if os.path.exists("/proc/self/statm") else None
    if pages:
        _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)
    _limit(resource.RLIMIT_CPU, int(seconds))
    _limit(resource.RLIMIT_FSIZE, FILE_SIZE)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    if seccomp.available():
        seccomp.restrict()


def _limit(what, most):
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))
