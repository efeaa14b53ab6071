# SPDX-License-Identifier: BSD-3-Clause
"""machine.py - processes of this machine, and what mprun has on it (tests/lib/snapshot)"""
import os
import re
import signal
import subprocess

SNAPSHOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lib", "snapshot")
STEP_ID = re.compile(r"mprun[.-]([a-z0-9]{8,})(?=(?:[-.]\d+)?(?:$|/))")


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.dir = "/proc/%d" % pid
        stat = read(self.dir + "/stat").rpartition(b")")[2].split()
        self.ok = len(stat) > 19
        self.state = stat[0].decode() if self.ok else "?"
        self.parent = int(stat[1]) if self.ok else 0
        self.start = stat[19].decode() if self.ok else "0"


def processes():
    all_of_them = (Process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {p.pid: p for p in all_of_them if p.ok}


def take(options):
    """What `snapshot take` sees: {(kind, identity): description}"""
    text = subprocess.run([SNAPSHOT, "take", *options], stdout=subprocess.PIPE, check=True).stdout
    lines = (line.split("\t", 2) for line in text.decode(errors="replace").splitlines())
    return {(kind, ident): about for kind, ident, about in lines}


def step_ids(names):
    return {m.group(1) for m in map(STEP_ID.search, names) if m}


def kill(ident):
    """The process of such an identity, "PID:START\""""
    pid, _, start = ident.partition(":")
    try:
        fd = os.pidfd_open(int(pid))
    except OSError:
        return
    if Process(int(pid)).start == start:  # the descriptor is the process's that was seen
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except OSError:
            pass
    os.close(fd)
