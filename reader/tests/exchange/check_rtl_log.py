#!/usr/bin/env python3
"""check_rtl_log.py TRACEBED FOLDER COUNT: random logs of RTL_LOGFILE, of several threads, against a slow and
obvious reader: the events, the counts of oddities, and the exported log.

SPDX-License-Identifier: MIT
"""
import collections
import json
import random
import re
import subprocess
import sys

NAMES = ["desktop (cd100003) ::Desktop::Init", "vcl (ss112471) ::SVMain", "a", "a : b", "a : b : c",
         "unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()", "::SplashScreen::setValue (lo119109)", "::CreateSalInstance",
         "linguistic: LngSvcMgr::SaveCfgSvcs - ReplaceSetProperties", "sfx2 (mv76033) Transfer_Impl, copying"]
MESSAGES = ["value=20", "100%", "", "{ calc", "} calc", "c : d", "<- store config items", "PERFORMANCE - enter Main()",
            "{ calc [n=1]", "} calc", "{   calc", "{", "}", "} creation", "{ creation ConfigItem [file=standard, mode=3]",
            "desktop (cd100003) ::D::g : Startup finished", "vcl (ss112471) x : { calc", "vcl (ss112471) x : } calc",
            "::D::g : c : d", ":: : x", "vcl (ss112471) : no function", "vcl ( x : y"]
ODD_LINES = ["", "hello", "1 1 | : x", "000001 1 |", "000001 x | : y", "000001 1 | no separator", "| : x"]


def make(chance):
    """The lines of a log, without newlines; some logs have some odd ones."""
    oddness = chance.choice([0, 0, 0.02, 0.2])
    colon = chance.choice(["", "", " : ", " :"])  # the form of the document that describes such logs
    ms, threads, lines = chance.choice([0, 0, 4294967000]), chance.randint(1, 5), []
    opened = collections.defaultdict(list)
    for _ in range(chance.randint(0, 300)):
        ms += chance.choice([0, 0, 0, 1, 7, 100])
        thread = chance.randint(1, threads)
        scopes, what = opened[thread], chance.random()
        shown = ms - chance.randint(0, 300) if chance.random() < oddness else ms
        prefix = "%06u %u " % (shown % 2 ** 32, thread)
        if chance.random() < oddness:
            lines.append(chance.choice(ODD_LINES))
        elif chance.random() < oddness:
            lines.append(prefix + "} " + chance.choice(NAMES))
        elif what < 0.3:
            scopes.append(chance.choice(NAMES))
            lines.append(prefix + "{ " + scopes[-1] + colon)
        elif what < 0.6 and scopes:
            lines.append(prefix + "} " + scopes.pop() + colon)
        elif what < 0.9:
            lines.append(prefix + "| %s : %s" % (chance.choice(scopes + NAMES), chance.choice(MESSAGES)))
        else:
            lines.append(prefix + "| : " + chance.choice(MESSAGES))
    return lines


def scope_name(rest):
    match = re.fullmatch("(.+) : ?", rest)
    return match[1] if match else rest


def split(rest, scopes):
    """(context, text) of a message; None: it has no separator."""
    if rest.startswith(": "):
        name, colon, text = rest[2:].partition(" : ")
        is_function = colon and re.match(r"::|[^ ():][^ ()]* \([^)]*\) +[^ ]", name)
        return (name, text) if is_function else ("", rest[2:])
    fits = [name for name in scopes if rest.startswith(name + " : ")]
    name = max(fits, key=len) if fits else rest.split(" : ")[0] if " : " in rest else None
    return None if name is None else (name, rest[len(name) + 3:])


class Scope:
    """An open scope, of an object or of messages; it may leave its thread's stack before it ends, or stay there
    afterwards."""

    def __init__(self, name, context=None):
        self.name, self.context, self.has_left, self.has_ended = name, context, False, False

    def shown(self):
        return self.context + " : " + self.name if self.context else self.name


class Thread:
    def __init__(self):
        self.stack, self.opened = [], []

    def names(self):
        return [scope.name for scope in self.opened if scope.context is None]

    def begin(self, scope):
        self.stack.append(scope)
        self.opened.append(scope)
        return [("begin", scope.shown())]

    def leave(self):
        self.stack.pop().has_left = True

    def end(self, scope):
        """The event of a line that ends it."""
        self.opened.remove(scope)
        scope.has_ended = True
        if scope.has_left or (scope.context is not None and self.stack[-1] is not scope):
            return [("instant", scope.shown())]
        while not scope.has_left:
            self.leave()
        while self.stack and self.stack[-1].has_ended:
            self.leave()
        return [("end", scope.shown())]

    def find(self, name, context=None):
        mine = [scope for scope in self.opened if scope.context == context]
        fits = [scope for scope in mine if scope.name == name]
        if not fits and name and context is not None:
            fits = [scope for scope in mine if scope.name.startswith(name)]
        return fits[-1] if fits else None

    def message(self, context, text):
        scope = Scope(text[1:].lstrip(" "), context)
        if text.startswith("{"):
            return self.begin(scope)
        found = self.find(scope.name, context) if text.startswith("}") else None
        return self.end(found) if found else [("message", context, text)]


def read(lines):
    """The event of each line, and the count of each class of oddity."""
    events, odd, threads = [], collections.Counter(), collections.defaultdict(Thread)
    newest = None
    for line in lines:
        match = re.fullmatch(r"(\d+) (\d+) ([{}|])(?: (.*))?", line)
        if not match:
            odd["foreign"] += 1
            events.append(("instant", "no line of a log"))
            continue
        ms, thread, kind, rest = int(match[1]), threads[match[2]], match[3], match[4]
        odd["number"] += match[1] != "%06u" % ms or rest is None
        if newest is None or 0 <= ms - newest <= 2 ** 31:
            newest = ms
        elif newest - ms > 2 ** 31:
            odd["wrap"] += 1
            newest = ms
        else:
            odd["step" if ms > newest else "back"] += 1
        rest = rest or ""
        if kind != "|":
            rest = scope_name(rest)
        scope = thread.find(rest) if kind == "}" else None
        if kind == "{":
            events += thread.begin(Scope(rest))
        elif scope:
            events += thread.end(scope)
        elif kind == "}":
            odd["orphan"] += 1
            events.append(("instant", rest))
        else:
            said = split(rest, thread.names())
            odd["separator"] += said is None
            found = thread.message(*(said or ("", rest)))
            odd["orphan_message"] += found[0][0] == "message" and found[0][2].startswith("}")
            events += found
    odd["unclosed"] += sum(len(thread.names()) for thread in threads.values())
    return events, {key: count for key, count in odd.items() if count}


def run(tracebed, *words):
    done = subprocess.run([tracebed, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, "%s: exit %d: %s" % (words, done.returncode, done.stderr.decode())
    return done.stdout


def found_event(event):
    if event["type"] == "message":
        return "message", event.get("context", ""), event["args"][0]["value"]
    return event["type"], event["name"]


def check(tracebed, path, seed):
    lines = make(random.Random(seed))
    header = ("opening log file 997000000.123456 seconds past January 1st 1970\n"
              "corresponding to 0 ms after timer start\nProcess id is 4711\n")
    log = header + "".join(line + "\n" for line in lines) + "closing log file at 000050"
    with open(path, "w", encoding="utf-8") as out:
        out.write(log)
    back = run(tracebed, "export", "--to=rtl-log", path, "-o", "-").decode()
    assert back == log, "seed %d: the exported log differs" % seed
    events, odd = read(lines)
    listed = [json.loads(line) for line in run(tracebed, "dump", "--json", path).splitlines()]
    found = [found_event(event) for event in listed if "tick" in event and "end_tick" not in event]
    assert found == events, "seed %d: %s" % (seed, [pair for pair in zip(found, events) if pair[0] != pair[1]][:1])
    told = {key: count for key, count in json.loads(run(tracebed, "info", "--json", path))["odd"].items() if count}
    assert told == odd, "seed %d: %s, not %s" % (seed, told, odd)


def main():
    tracebed, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for seed in range(count):
        check(tracebed, folder + "/random.log", seed)
    kinds = ("{ vcl (ss112471) ::Scope%d", "| : line %d", "| vcl (ss112471) ::Scope%d : x", "} vcl (ss112471) ::Scope%d")
    long = "".join("%06u %u %s\n" % (i // 9, i // 400 % 4 + 1, kinds[i % 4] % (i // 4 % 50)) for i in range(100000))
    with open(folder + "/long.log", "w", encoding="utf-8") as out:
        out.write(long)
    run(tracebed, "import", folder + "/long.log", "-f", "-o", folder + "/long.tbed")
    assert run(tracebed, "export", "--to=rtl-log", folder + "/long.tbed", "-o", "-").decode() == long


if __name__ == "__main__":
    main()
