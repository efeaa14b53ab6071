# SPDX-License-Identifier: BSD-3-Clause
"""gridengine_job - a benchmark's own part in a job of a real Grid Engine (tests/lab/gridengine)"""
import contextlib
import os
import shutil
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Failure(Exception):
    pass


def can_be():
    return os.getuid() == 0 and os.access("/usr/lib/gridengine/sge_qmaster", os.X_OK)


def _lab(command, where, *words):
    return subprocess.run([os.path.join(TOP, "tests/lab/gridengine"), command, where, *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def shared_directory(build, *options):
    """A Grid Engine that is up, as a directory that all its hosts have."""
    where = tempfile.mkdtemp(prefix="mprun-bench.")
    os.chmod(where, 0o755)
    try:
        up = _lab("up", where, "--expose", TOP, "--expose", build, *options)
        if up.returncode != 0:
            raise Failure("no Grid Engine: " + up.stdout.decode().strip()[-600:])
        yield os.path.join(where, "shared")
    finally:
        _lab("down", where)
        shutil.rmtree(where, ignore_errors=True)


def run(shared, pe, argv, limit):
    """Runs argv as a job's script on the slots of `pe` ("lab 6") until its end, `limit` seconds at most;
    prints what it writes."""
    script, out = (os.path.join(shared, name) for name in ("job.sh", "out"))
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexec %s\n" % " ".join("'%s'" % word for word in argv))
    os.chmod(script, 0o755)
    job = _lab("run", os.path.dirname(shared), "n0", "--user", "labuser", "--", "timeout", str(limit), "qsub",
               "-sync", "y", "-j", "y", "-o", out, "-pe", *pe.split(), script)
    said = ""
    if os.access(out, os.R_OK):
        with open(out, errors="replace") as f:
            said = f.read()
    if job.returncode != 0:
        raise Failure("the job failed: " + (said or job.stdout.decode()).strip()[-600:])
    print("".join("  %s\n" % line for line in said.splitlines()[:20]), end="")


def compile_init_finalize(where):
    """init.openmpi and init.mpich, those whose compiler is there."""
    for mpi in "openmpi", "mpich":
        compiler = shutil.which("mpicc." + mpi)
        if compiler:
            subprocess.run([compiler, "-o", os.path.join(where, "init." + mpi),
                            os.path.join(TOP, "bench/init-finalize.c")], check=True)
