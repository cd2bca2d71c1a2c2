"""
What the programs of programs_bench.py work on: small sources, pages and settings, made in a folder.

SPDX-License-Identifier: MIT
"""

import glob
import os
import shutil
import subprocess
import time

PORT = 18741
DISPLAY = ":87"

NGINX = """
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""

NODE = r"""
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { createHash } = require("crypto");
const zlib = require("zlib");
function work(seed) {
    const map = new Map();
    for (let i = 0; i < 200000; i++) map.set(`key ${(i * seed) % 65537}`, { i, text: "x".repeat(i % 50) });
    const text = JSON.stringify([...map]);
    const packed = zlib.deflateSync(text);
    return createHash("sha256").update(packed).update(text.replace(/key (\d+)/g, "<$1>")).digest("hex");
}
if (isMainThread) {
    console.log(work(7));
    const worker = new Worker(__filename);
    worker.on("message", (text) => console.log(text));
    worker.on("exit", (code) => { process.exitCode = 3 + code; });
} else {
    parentPort.postMessage(work(11));
}
"""

JAVA = r"""
import java.util.*;
import java.util.stream.*;
public class Program {
    public static void main(String[] arguments) throws Exception {
        List<String> words = IntStream.range(0, 400000).mapToObj(i -> "word " + (i * 7919L) % 65537).collect(Collectors.toList());
        Map<String, Long> counts = words.parallelStream().collect(Collectors.groupingByConcurrent(w -> w, Collectors.counting()));
        long sum = 0;
        for (var each : new TreeMap<>(counts).entrySet()) sum = sum * 31 + each.getKey().hashCode() * each.getValue();
        Thread[] threads = new Thread[8];
        long[] sums = new long[threads.length];
        for (int t = 0; t < threads.length; t++) {
            int number = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 200000; i++) sums[number] += new StringBuilder().append(i).append(number).reverse().length();
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        byte[] packed = new byte[1 << 20];
        java.util.zip.Deflater deflater = new java.util.zip.Deflater();
        deflater.setInput(String.join(",", words).getBytes("UTF-8"));
        deflater.finish();
        System.out.println(sum + " " + Arrays.toString(sums) + " " + deflater.deflate(packed));
        System.exit(7);
    }
}
"""

CONFIGURE = """AC_INIT([example], [1.0])
AC_CONFIG_HEADERS([config.h])
AC_PROG_CC
AC_C_BIGENDIAN
AC_SYS_LARGEFILE
AC_CHECK_SIZEOF([long])
AC_CHECK_HEADERS([fcntl.h poll.h sys/epoll.h sys/event.h sys/inotify.h sys/mman.h spawn.h threads.h])
AC_CHECK_FUNCS([accept4 copy_file_range epoll_create1 explicit_bzero getrandom kqueue memfd_create pipe2 strlcpy])
AC_SEARCH_LIBS([dlopen], [dl])
AC_SEARCH_LIBS([pow], [m])
AC_OUTPUT
"""

CHATTER = ("dbus", "DBus", "vaapi", "gpu", "GPU", "Vulkan", "vulkan", "Fontconfig", "bytes written to file", "UPower", "libva",
           "oom_score", "inotify", "registration", "DEPRECATED", "VA-API", "ERROR:")  # fmt: skip


def is_chromium_chatter(line):
    """What chromium prints at random, or with times and process ids in it."""
    return line.startswith("[") and any(word in line for word in CHATTER) or "bytes written" in line


def postgres_folder():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return found[-1] if found else "/usr/bin"


def desktop(folder):
    """The environment of a program with windows."""
    return os.environ | {"DISPLAY": DISPLAY, "HOME": folder, "XDG_RUNTIME_DIR": folder, "NO_AT_BRIDGE": "1",
                         "DBUS_SESSION_BUS_ADDRESS": "disabled:", "GTK_USE_PORTAL": "0", "LC_ALL": "C.UTF-8"}  # fmt: skip


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def source(number):
    functions = "".join(f"static int f{i}(int x) {{ return x * {i + number} + (x >> {i % 7}); }}\n" for i in range(120))
    calls = " + ".join(f"f{i}(x)" for i in range(120))
    return f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n{functions}int part{number}(int x) {{ return {calls}; }}\n"


def make_sources(folder):
    count = 24
    for number in range(count):
        write(f"{folder}/part{number}.c", source(number))
    declared = "".join(f"int part{number}(int);\n" for number in range(count))
    summed = " + ".join(f"part{number}(3)" for number in range(count))
    write(f"{folder}/main.c", f"#include <stdio.h>\n{declared}int main(void) {{ printf(\"%d\\n\", {summed}); return 0; }}\n")
    write(f"{folder}/Makefile", "CFLAGS = -O2\nOBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $^\n")


def make_configure(folder):
    write(f"{folder}/configure.ac", CONFIGURE)
    subprocess.run(["autoreconf", "--force", "--install"], cwd=folder, check=False, capture_output=True)
    subprocess.run(["autoheader"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["autoconf"], cwd=folder, check=True, capture_output=True)


def start_display():
    display = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1024x768x24", "-nolisten", "tcp"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    for _ in range(100):
        if os.path.exists(f"/tmp/.X11-unix/X{DISPLAY[1:]}") or display.poll() is not None:
            break
        time.sleep(0.05)
    return display


def stop(display):
    if display is not None:
        display.terminate()
        display.wait()


PAGE = """
row = Struct.new(:number, :text)
run lambda { |env|
  rows = Array.new(40) { |i| row.new(i, "row #{i} of #{env["PATH_INFO"]}") }
  body = rows.map { |each| "<li>#{each.number}: #{each.text.upcase}</li>" }.join("\\n")
  [200, { "content-type" => "text/html" }, ["<ul>#{body}</ul>\\n"]]
}
"""


def make_ruby(work):
    """A part of Ruby's library to check, a book to convert, and a page to serve."""
    library = subprocess.run(["ruby", "-e", 'print RbConfig::CONFIG["rubylibdir"]'], capture_output=True, text=True, check=False).stdout
    os.makedirs(f"{work}/checked")
    for path in [f"{library}/optparse.rb", f"{library}/set.rb", *sorted(glob.glob(f"{library}/uri/*.rb"))]:
        if os.path.exists(path):
            shutil.copy(path, f"{work}/checked")
    chapter = "== Chapter {0}\n\nA *bold* and _slanted_ paragraph, with `code` and a https://example.org/{0}[link].\n\n* one\n* two\n** three\n\n" \
              "|===\n|a |b\n\n|{0} |text\n|===\n\n[source,ruby]\n----\nputs {0}\n----\n\n"  # fmt: skip
    write(f"{work}/book.adoc", "= A book\n:toc:\n\n" + "".join(chapter.format(number) for number in range(700)))
    write(f"{work}/page.ru", PAGE)


def make_all(root, work, names):
    """Makes what these programs need. Returns the X server, or None."""
    write(f"{work}/page.html", "<!doctype html><title>t</title>" + "".join(f"<p style='color:#{i:03x}'>line {i}</p>" for i in range(400)))
    if "git" in names:
        subprocess.run(["git", "clone", "-q", "--bare", root, f"{work}/repository"], check=True)
    if "node" in names:
        write(f"{work}/program.js", NODE)
    if "java" in names and shutil.which("javac"):
        write(f"{work}/java/Program.java", JAVA)
        subprocess.run(["javac", "Program.java"], cwd=f"{work}/java", check=True)
    if "configure" in names and shutil.which("autoconf"):
        make_configure(f"{work}/configured")
    if "make" in names:
        make_sources(f"{work}/made")
    if names & {"rubocop", "asciidoctor", "puma"} and shutil.which("ruby"):
        make_ruby(work)
    return start_display() if names & {"gtk", "qt"} and shutil.which("Xvfb") else None
