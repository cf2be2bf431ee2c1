"""A system-call filter for one answer's process: no new processes, no signals to others, no network, no tracing.

RLIMIT_NPROC counts nothing for root and a network namespace needs bubblewrap, so these two limits hold with and without
it. The filter is classic BPF, handed to the kernel by `prctl`; it can only be tightened afterwards. See seccomp(2).
"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 1, 38, 22, 2
LOAD, JUMP_EQUAL, JUMP_BITS, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in struct seccomp_data
CLONE_THREAD = 0x00010000
X32 = 0x40000000  # calls of another table on x86_64

# Numbers by machine, and None where a machine has no such call: {name: (x86_64, aarch64)}.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = {
    "fork": (57, None), "vfork": (58, None), "unshare": (272, 97), "setns": (308, 268),
    "socket": (41, 198), "socketpair": (53, 199), "io_uring_setup": (425, 425),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    # What outlives the process that made it.
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
# Signals, limits and turns on the processor, which pass only where the first argument is this process, or 0 for it.
TO_ITSELF = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
}  # fmt: skip
# Of these only some commands are refused: {name: (numbers, offset of the argument, commands)}.
COMMANDS = {
    "fcntl": ((72, 25), SECOND_ARGUMENT, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX: signals to any process
    "ioctl": ((16, 29), SECOND_ARGUMENT, (0x8901, 0x8902)),  # FIOSETOWN, SIOCSPGRP: the same
    "prctl": ((157, 167), FIRST_ARGUMENT, (PR_SET_PDEATHSIG,)),  # it ends with its parent
}
CLONE, CLONE3 = (56, 220), (435, 435)


def available():
    """Whether this machine has a table and takes filters."""
    known = sys.platform == "linux" and platform.machine() in ARCHITECTURES
    return known and os.path.exists("/proc/sys/kernel/seccomp")


def restrict():
    """Install the filter for this process and all of its threads, for good. Raises OSError where the kernel refuses.

    Signals may go to 0, the process group, so the process must have one of its own.
    """
    program = instructions(platform.machine(), os.getpid())
    code = ctypes.create_string_buffer(b"".join(program))
    descriptor = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER, descriptor, 0, 0)):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


def instructions(machine, own_pid):
    """The filter as a list of struct sock_filter. What is in TO_ITSELF passes only to `own_pid`."""
    column = list(ARCHITECTURES).index(machine)
    refuse, allow = [_step(RETURN, REFUSE | errno.EPERM)], [_step(RETURN, ALLOW)]
    program = [_step(LOAD, ARCHITECTURE), _step(JUMP_EQUAL, ARCHITECTURES[machine], 1, 0), *refuse]
    program += [_step(LOAD, NUMBER), _step(JUMP_AT_LEAST, X32, 0, 1), *refuse]

    def add(numbers, steps):
        """These steps, which end in a verdict, for one call."""
        if numbers[column] is not None:
            program.extend([_step(JUMP_EQUAL, numbers[column], 0, len(steps)), *steps])

    for numbers in REFUSED.values():
        add(numbers, refuse)
    # glibc goes on to `clone`, whose flags can be read, where `clone3` is missing.
    add(CLONE3, [_step(RETURN, REFUSE | errno.ENOSYS)])
    add(CLONE, [_step(LOAD, FIRST_ARGUMENT), _step(JUMP_BITS, CLONE_THREAD, 1, 0), *refuse, *allow])
    itself = [_step(LOAD, FIRST_ARGUMENT), _step(JUMP_EQUAL, own_pid, 2, 0), _step(JUMP_EQUAL, 0, 1, 0)]
    for numbers in TO_ITSELF.values():
        add(numbers, [*itself, *refuse, *allow])
    for numbers, argument, commands in COMMANDS.values():
        tests = [step for command in commands for step in (_step(JUMP_EQUAL, command, 0, 1), *refuse)]
        add(numbers, [_step(LOAD, argument), *tests, *allow])
    return program + allow


def _step(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)
