#!/usr/bin/env python3
"""
Runs programs that nobody prepared for it under 'tracebed record': with the call stacks of allocations, and with --light;
Ruby programs with --ruby: light, full, and calls.
Compares what they print and their exit status with the plain program, and prints the cost in CPU time and wall-clock time, the
size of the trace, and what the trace reports as dropped or damaged. Programs that are not installed are skipped. Servers
listen on 127.0.0.1 or on a socket in the folder of the run, and are stopped at its end. See bench/README.md.

SPDX-License-Identifier: MIT
"""

import argparse
import contextlib
import dataclasses
import hashlib
import os
import pwd
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench", "programs"))
import inputs  # noqa: E402

TRACEBED = os.path.join(ROOT, os.environ.get("TBED_BUILD", "build/release"), "tracebed")
WAYS = {"plain": None, "stacks": ["--stacks"], "light": ["--light"]}
RUBY_WAYS = {"plain": None, "light": ["--ruby"], "full": ["--ruby=full"], "calls": ["--ruby=none,calls"]}
TIMEOUT = 80  # seconds, for each run


# ---- Runs ----


@dataclasses.dataclass
class Place:
    """A folder for one run, and the words before the command to be recorded."""

    work: str  # inputs that all runs share
    folder: str
    front: list
    trace: str
    user: str = ""  # who has to be able to write there


@dataclasses.dataclass
class Result:
    status: int
    printed: bytes  # everything that must be the same as in the plain run
    errors: str = ""
    cpu: float = 0
    wall: float = 0


def run(place, command, **more):
    """Runs one command under record to its end; its standard output and error are compared."""
    done = subprocess.run([*place.front, *command], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=TIMEOUT, check=False, **more)  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def plain(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False, **more)


def wait_for(child, result):
    """Waits for a server; its CPU time does not include that of the programs that load it."""
    for _ in range(TIMEOUT * 20):
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            result.status = child.returncode = os.waitstatus_to_exitcode(status)
            result.cpu = used.ru_utime + used.ru_stime
            return
        time.sleep(0.05)
    raise subprocess.TimeoutExpired(child.args, TIMEOUT)


@contextlib.contextmanager
def server(place, command, is_ready, stop=signal.SIGTERM, **more):
    """Runs a server under record for as long as the block takes; 'result.status' is there afterwards."""
    with open(f"{place.folder}/server.errors", "w+b") as errors:
        child = subprocess.Popen([*place.front, *command], cwd=place.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True, **more)  # fmt: skip
        result = Result(-1, b"")
        try:
            for _ in range(300):
                if is_ready() or child.poll() is not None:
                    break
                time.sleep(0.05)
            yield result
            child.send_signal(stop)
            wait_for(child, result)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        errors.seek(0)
        result.errors = errors.read().decode(errors="replace")


def identity(place):
    """Arguments of subprocess.run() for a program that does not run as root."""
    return {"user": place.user, "group": pwd.getpwnam(place.user).pw_gid, "extra_groups": []}


def check_reachable():
    """postgres and nginx do not run as root; they must be able to start the program in the folders of this tree."""
    folder = ROOT
    while os.geteuid() == 0 and folder != "/":
        if not os.stat(folder).st_mode & 0o001:
            sys.exit(f"{folder}: other users cannot enter it, but some of the programs do not run as root: chmod o+x")
        folder = os.path.dirname(folder)


def digest(path):
    """What a program wrote to a file; it must have."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest().encode()


# ---- Programs ----


def git(place):
    copy = f"{place.folder}/copy"
    script = f"git clone -q --no-local {place.work}/repository {copy} && git -C {copy} log --stat && git -C {copy} gc -q && " \
             f"git -C {copy} fsck --no-progress && git -C {copy} status --short --branch"  # fmt: skip
    return run(place, ["sh", "-c", script])


def nginx(place):
    for name in ("conf", "www"):
        os.makedirs(f"{place.folder}/{name}")
    with open(f"{place.folder}/conf/nginx.conf", "w", encoding="utf-8") as file:
        file.write(inputs.NGINX.format(folder=place.folder, port=inputs.PORT))
    with open(f"{place.folder}/www/index.html", "w", encoding="utf-8") as file:
        file.write("a page\n" * 500)
    url = f"http://127.0.0.1:{inputs.PORT}/index.html"
    command = ["nginx", "-p", place.folder, "-c", f"{place.folder}/conf/nginx.conf", "-e", "stderr"]
    with server(place, command, lambda: plain(["ab", "-q", "-n1", url]).returncode == 0, signal.SIGQUIT) as result:
        said = plain(["ab", "-q", "-n", "40000", "-c", "8", url]).stdout.decode()
    result.printed = "\n".join(re.findall(r"^(?:Complete|Failed|Non-2xx|Document|HTML).*", said, re.M)).encode()
    return result


def postgres(place):
    cluster, who = f"{place.folder}/cluster", identity(place)
    binaries = inputs.postgres_folder()
    environment = os.environ | {"PGHOST": place.folder, "PGPORT": str(inputs.PORT), "PGUSER": "bench", "PGDATABASE": "postgres"}
    made = plain([f"{binaries}/initdb", "-D", cluster, "-U", "bench", "-A", "trust", "--no-sync"], cwd=place.folder, **who)
    if made.returncode != 0:
        return Result(made.returncode, b"", made.stderr.decode())
    command = [f"{binaries}/postgres", "-D", cluster, "-k", place.folder, "-h", "", "-p", str(inputs.PORT), "-F"]

    def ready():
        return plain(["pg_isready", "-q"], env=environment).returncode == 0

    with server(place, command, ready, signal.SIGINT, **who) as result:
        plain(["pgbench", "-i", "-q", "-s", "4"], env=environment)
        said = plain(["pgbench", "-n", "-c", "4", "-j", "2", "-t", "4000"], env=environment).stdout.decode()
        counted = plain(["psql", "-Atc", "select count(*), sum(bid) from pgbench_history, pg_class where relname = 'pg_class'"],
                        env=environment).stdout  # fmt: skip
    result.printed = "\n".join(re.findall(r"^number of .*", said, re.M)).encode() + counted.split(b"|")[0]
    result.errors = "\n".join(line for line in result.errors.splitlines() if " LOG: " not in line and "FATAL" not in line)
    return result


def node(place):
    return run(place, ["node", f"{place.work}/program.js"])


def java(place):
    return run(place, ["java", "-Xmx256m", "-cp", f"{place.work}/java", "Program"])


def configure(place):
    result = run(place, [f"{place.work}/configured/configure", "--cache-file=/dev/null"])
    result.printed += digest(f"{place.folder}/config.h")
    return result


def make(place):
    shutil.copytree(f"{place.work}/made", f"{place.folder}/made")
    result = run(place, ["make", "-s", "-j2", "-C", f"{place.folder}/made"])
    result.printed += plain([f"{place.folder}/made/program"]).stdout
    return result


def imagemagick(place):
    picture = f"{place.folder}/picture.rgb"
    command = [shutil.which("convert-im6.q16") or "convert", "-size", "1200x1200", "gradient:red-blue", "-swirl", "200", "-blur",
               "0x6", "-resize", "900x700", "-rotate", "20", "-depth", "8", picture]  # fmt: skip
    result = run(place, command)
    result.printed += digest(picture)
    return result


def gtk(place):
    return run(place, ["zenity", "--text-info", "--timeout=3", f"--filename={place.work}/page.html"], env=inputs.desktop(place.folder))


def qt(place):
    return run(place, ["timeout", "-s", "TERM", "3", "featherpad", f"{place.work}/page.html"], env=inputs.desktop(place.folder))


def chromium(place):
    picture = f"{place.folder}/picture.png"
    who = identity(place)
    command = ["chromium", "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--disable-breakpad",
               "--disable-background-networking", "--disable-component-update", f"--user-data-dir={place.folder}/profile",
               "--window-size=800,600", f"--screenshot={picture}", f"file://{place.work}/page.html"]  # fmt: skip
    result = run(place, command, env=inputs.desktop(place.folder), **who)
    result.printed += digest(picture)
    result.errors = "\n".join(line for line in result.errors.splitlines() if not inputs.is_chromium_chatter(line))
    return result


def rubocop(place):
    return run(place, ["rubocop", "--cache", "false", "--force-default-config", f"{place.work}/checked"])


def asciidoctor(place):
    result = run(place, ["asciidoctor", "-a", "reproducible", "-o", f"{place.folder}/book.html", f"{place.work}/book.adoc"])
    result.printed += digest(f"{place.folder}/book.html")
    return result


def puma(place):
    url = f"http://127.0.0.1:{inputs.PORT}/"
    command = ["puma", "-q", "-w", "2", "-t", "2:2", "-b", f"tcp://127.0.0.1:{inputs.PORT}", f"{place.work}/page.ru"]
    with server(place, command, lambda: plain(["ab", "-q", "-n1", url]).returncode == 0) as result:
        said = plain(["ab", "-q", "-n", "8000", "-c", "4", url]).stdout.decode()
    result.printed = "\n".join(re.findall(r"^(?:Complete|Failed|Non-2xx|Document|HTML).*", said, re.M)).encode()
    result.errors = re.sub(r"\d+", "N", result.errors)
    return result


@dataclasses.dataclass
class Program:
    run: object
    needs: list
    user: str = ""
    ways: dict = dataclasses.field(default_factory=lambda: WAYS)


PROGRAMS = [
    Program(git, ["git"]),
    Program(nginx, ["nginx", "ab"]),
    Program(postgres, ["pgbench", "psql"], "nobody"),
    Program(node, ["node"]),
    Program(java, ["java", "javac"]),
    Program(configure, ["autoconf", "gcc"]),
    Program(make, ["make", "gcc"]),
    Program(imagemagick, ["convert"]),
    Program(gtk, ["zenity", "Xvfb"]),
    Program(qt, ["featherpad", "Xvfb"]),
    Program(chromium, ["chromium"], "nobody"),
    Program(rubocop, ["rubocop", "ruby"], ways=RUBY_WAYS),
    Program(asciidoctor, ["asciidoctor", "ruby"], ways=RUBY_WAYS),
    Program(puma, ["puma", "ab", "ruby"], ways=RUBY_WAYS),
]


# ---- Measuring ----


def nbytes_of(folder):
    return sum(os.stat(f"{folder}/{name}").st_blocks * 512 for name in os.listdir(folder) if name.startswith("run.tbed"))


def told(trace):
    """What 'info' says of what is missing, and how many processes there are."""
    if not os.path.exists(trace):
        return "no trace", 0
    said = plain([TRACEBED, "info", trace])
    text = said.stdout.decode(errors="replace") + said.stderr.decode(errors="replace")
    missing = re.findall(r"^ *(?:dropped|damage|lost|missing).*", text, re.M)
    state = re.findall(r"^ *state +(.*)", text, re.M)
    return "; ".join(each.strip() for each in state + missing) or "–", len(re.findall(r"^ +\d+ +\d+ +\d+ +\S", text, re.M))


def once(program, way, work):
    """One run in a fresh folder; returns the result, the size of the trace, and what it says about itself."""
    with tempfile.TemporaryDirectory(prefix="programs_bench.", dir=work) as folder:
        trace = f"{folder}/run.tbed"
        given = program.ways[way]
        front = [] if given is None else [TRACEBED, "record", "-o", trace, *given, "--"]
        os.chmod(folder, 0o755)
        if program.user:
            user = pwd.getpwnam(program.user)
            os.chown(folder, user.pw_uid, user.pw_gid)
        place = Place(work, folder, front, trace, program.user)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        result = program.run(place)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result.wall = time.monotonic() - begin
        result.cpu = result.cpu or after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        for name in (folder, work):  # of no meaning to the comparison
            result.printed = result.printed.replace(name.encode(), b"")
            result.errors = result.errors.replace(name, "")
        return result, nbytes_of(folder), told(trace) if front else ("", 0)


def differences(result, base):
    """How a run differs from the plain one, in words; empty: it does not."""
    found = []
    if result.status not in (base.status, 128 - base.status if base.status < 0 else base.status):  # a signal
        found.append(f"status {result.status} instead of {base.status}")
    if result.printed != base.printed:
        found.append("other output")
    ours = sorted(set(result.errors.splitlines()) - set(base.errors.splitlines()))
    if ours:
        found.append(f"on stderr: {ours[0][:150]}" + (f" and {len(ours) - 1} more lines" if len(ours) > 1 else ""))
    return ", ".join(found)


def put_row(name, way, runs, base):
    cpu, wall = statistics.median(each[0].cpu for each in runs), statistics.median(each[0].wall for each in runs)
    base_cpu, base_wall = statistics.median(each[0].cpu for each in base), statistics.median(each[0].wall for each in base)
    state, processes = runs[-1][2]
    same = sorted({differences(each[0], base[0][0]) or "same" for each in runs})
    cells = [name, way, f"{cpu:.2f} s", f"{cpu / base_cpu:.2f}", f"{wall:.2f} s", f"{wall / base_wall:.2f}"]
    cells += ["–", "–", "–"] if way == "plain" else [f"{runs[-1][1] / 1e6:.1f} MB", processes, state]
    print("| " + " | ".join(map(str, [*cells, " / ".join(same)])) + " |", flush=True)


def measure(options, program, work):
    ways = [way for way in options.ways or program.ways if way in program.ways]
    runs = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            runs[way].append(once(program, way, work))
    for way in ways:
        put_row(program.run.__name__, way, runs[way], runs["plain"])


def parse():
    parser = argparse.ArgumentParser(description="Programs under 'tracebed record': the same output? At what cost?")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each program in each way (1)")
    parser.add_argument("--only", default="", help="only these programs, separated by commas")
    parser.add_argument("--ways", default="", help=f"of {','.join(WAYS | RUBY_WAYS)}, as far as a program has them; the first is plain")
    parser.add_argument("--path", help="directory for inputs and traces")
    options = parser.parse_args()
    options.ways = options.ways.split(",") if options.ways else []
    options.only = options.only.split(",") if options.only else []
    return options


def main():
    options = parse()
    check_reachable()
    chosen = [each for each in PROGRAMS if not options.only or each.run.__name__ in options.only]
    with tempfile.TemporaryDirectory(prefix="programs_bench.", dir=options.path) as work:
        os.chmod(work, 0o755)
        display = inputs.make_all(ROOT, work, {each.run.__name__ for each in chosen})
        print(f"{options.rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
        print("| Program | | CPU | of plain | Wall | of plain | Trace | Processes | State | Compared with plain |")
        print("|" + "---|" * 10)
        try:
            for program in chosen:
                missing = [name for name in program.needs if shutil.which(name) is None]
                if missing:
                    print(f"{program.run.__name__}: skipped, {missing[0]} is not installed", file=sys.stderr)
                else:
                    measure(options, program, work)
        finally:
            inputs.stop(display)


if __name__ == "__main__":
    main()
