"""
Makes the manual: one HTML file of the pages in docs, the manual pages and the reference of the headers, which needs no
other file and no network.

    python3 ninja/manual.py FILE

Markdown becomes HTML by lowdown, manual pages by mandoc. A link to a page of the manual leads to its section; a link to
another file of the tree shows its path.

SPDX-License-Identifier: MIT
"""

import base64
import html
import pathlib
import re
import shutil
import subprocess
import sys

import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MAN = ROOT / "reader/tools/man"
TOOLS = ("lowdown", "mandoc")
STYLE = """
:root { color-scheme: light dark; --line: #8884; --back: #8881; --link: #0a58ca; }
@media (prefers-color-scheme: dark) { :root { --link: #7ab4ff; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
a.permalink { color: inherit; }
main { max-width: 56rem; margin: 0 auto; padding: 0 1rem 4rem; overflow-wrap: break-word; }
section.page { border-top: 3px double var(--line); margin-top: 4rem; }
section.page:first-of-type { border: 0; margin-top: 0; }
h1, h2, h3, h4 { line-height: 1.25; scroll-margin-top: 1rem; }
pre, .wide { overflow-x: auto; }
pre { background: var(--back); padding: .6rem .8rem; font-size: 13px; line-height: 1.4; border-radius: 4px; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
code { font-size: .9em; }
code.Fl { white-space: nowrap; }
td code { overflow-wrap: anywhere; }
pre code { font-size: inherit; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
th:empty { padding: 0; border: 0; }
img { max-width: 100%; height: auto; }
dt { margin-top: .6rem; }
table.head, table.foot { display: none; }
table.Nm td { border: 0; }
nav { padding: 1rem; font-size: 14px; }
nav ul { list-style: none; margin: 0; padding-left: .8rem; }
nav summary { cursor: pointer; padding: .15rem 0; }
nav details.all > summary { font-weight: bold; font-size: 1.1rem; }
@media (min-width: 75rem) {
  nav { position: fixed; top: 0; bottom: 0; left: 0; width: 19rem; overflow-y: auto; border-right: 1px solid var(--line); }
  body { padding-left: 19rem; }
}
@media print { nav { display: none; } }
"""


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    plain = re.sub(r"[^\w\- ]", "", html.unescape(re.sub(r"<[^>]*>", "", text)).strip().lower())
    return plain.replace(" ", "-")


def run(text, *command):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True, text=True, encoding="utf-8").stdout


# ---- A page ----


def of_markdown(name, text):
    """The HTML of a page; ids are 'name' for its title and 'name--anchor' for other headings."""
    made = run(text, "lowdown", "-thtml", "--html-no-owasp", "--html-no-num-ent", "--parse-no-metadata", "--parse-no-intraemph",
               "--out-no-smarty")  # fmt: skip
    seen = {}

    def heading(match):
        level, inner = int(match[1]), match[2]
        anchor = slug(inner)
        count = seen[anchor] = seen.get(anchor, -1) + 1
        anchor = f"{name}--{anchor}" + (f"-{count}" if count else "")
        return f'<h{level} id="{name if level == 1 else anchor}">{inner}</h{level}>'

    made = re.sub(r'<h(\d) id="[^"]*">(.*?)</h\1>', heading, made, flags=re.S)
    made = re.sub(r'<img src="([^"]+)"', lambda match: f'<img src="{picture(match[1])}"', made)
    return re.sub(r'<a href="([^"]+)">(.*?)</a>', lambda match: link(name, match[1], match[2]), made, flags=re.S)


def picture(path):
    return "data:image/png;base64," + base64.b64encode((DOCS / path).read_bytes()).decode()


def link(name, target, text):
    path, _, anchor = target.partition("#")
    if path.startswith(("http:", "https:")):
        return f'<a href="{target}">{text}</a>'
    page = name if path == "" else page_name(path)
    if page is None:
        place = html.escape(path.removeprefix("../"))
        return text if place in text else f"{text} (<code>{place}</code>)"
    return f'<a href="#{page}{"--" + anchor if anchor else ""}">{text}</a>'


def page_name(path):
    """The section of docs/PATH, or None if it is not in the manual."""
    file = DOCS / path
    return file.stem if file.parent == DOCS and file.suffix == ".md" and file.exists() else None


def of_man(path):
    name = f"man-{path.name}"
    made = run(None, "mandoc", "-Thtml", "-Ofragment,man=#man-%N.%S", str(path))
    made = re.sub(r'<a class="Xr" href="#man-([^"]+)">(.*?)</a>',
                  lambda match: match[0] if (MAN / match[1]).exists() else match[2], made)  # fmt: skip
    made = re.sub(r'id="([^"]+)"', lambda match: f'id="{name}--{match[1]}"', made)
    made = re.sub(r'href="#(?!man-tracebed)([^"]+)"', lambda match: f'href="#{name}--{match[1]}"', made)
    made = re.sub(r"<(/?)h(\d)", lambda match: f"<{match[1]}h{int(match[2]) + 1}", made)
    return f'<h1 id="{name}">{path.stem}({path.suffix[1:]})</h1>\n{made}'


# ---- All of them ----


def linked_pages():
    """The pages in docs, in the order in which README.md has them."""
    names = re.findall(r"\]\((\w[\w-]*\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8"))
    return list(dict.fromkeys(names))


def parts():
    """(title of the part, [HTML of its pages])"""
    docs = ["README.md", *linked_pages()]
    yield "Manual", [of_markdown(pathlib.Path(name).stem, (DOCS / name).read_text(encoding="utf-8")) for name in docs]
    pages = sorted(MAN.iterdir(), key=lambda path: (path.suffix, path.stem))
    yield "Manual pages", [of_man(path) for path in pages]
    headers = [(pathlib.Path(path).name, reference.page_of(path)) for path in reference.HEADERS]
    yield "Reference", [of_markdown(name.replace(".", "-"), text) for name, text in headers]


def with_man_links(made):
    """'tracebed-report(1)' in a text leads to the page."""
    def to_link(match):
        path = MAN / f"{match[1]}.{match[2]}"
        return f'<a href="#man-{path.name}">{match[0]}</a>' if path.exists() else match[0]
    pieces = re.split(r"(<pre>.*?</pre>|<a .*?</a>|<h1.*?</h1>|<[^>]*>)", made, flags=re.S)
    return "".join(piece if piece.startswith("<") else re.sub(r"\b(tracebed(?:-\w+)?)\((\d)\)", to_link, piece)
                   for piece in pieces)


def contents_of(made):
    """The entry of a page in the table of contents."""
    title = re.search(r'<h1 id="([^"]+)">(.*?)</h1>', made, re.S)
    heads = re.findall(r'<h2[^>]* id="([^"]+)">(.*?)</h2>', made, re.S)
    plain = [(anchor, re.sub(r"</?a\b[^>]*>", "", text)) for anchor, text in heads]
    entry = f'<a href="#{title[1]}">{title[2]}</a>'
    if not plain or title[1].startswith("man-"):
        return f"<li>{entry}</li>"
    items = "".join(f'<li><a href="#{anchor}">{text}</a></li>' for anchor, text in plain)
    return f"<li><details><summary>{entry}</summary><ul>{items}</ul></details></li>"


def manual():
    contents, body = [], []
    for title, pages in parts():
        entries = "".join(map(contents_of, pages))
        contents.append(f"<details{' open' if title == 'Manual' else ''}><summary>{title}</summary><ul>{entries}</ul></details>")
        for made in pages:
            made = re.sub(r"(<table(?! class=\"(?:head|foot)).*?</table>)", r'<div class="wide">\1</div>', made, flags=re.S)
            body.append(f'<section class="page">\n{with_man_links(made)}\n</section>')
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tracebed: the manual</title>
<style>{STYLE}</style>
</head>
<body>
<nav><details class="all" open><summary>tracebed</summary>{''.join(contents)}</details></nav>
<main>
{chr(10).join(body)}
</main>
</body>
</html>
"""


def missing_tools():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 ninja/manual.py FILE")
    missing = missing_tools()
    if missing:
        sys.exit(f"manual: missing: {' '.join(missing)} (Debian's packages have these names)")
    path = pathlib.Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(manual(), encoding="utf-8")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
