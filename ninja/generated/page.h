/* Written by ninja/generate.py. Do not edit. */
PAGE_FILE(0, "index.html")
PAGE_FILE(1, "view.js")
