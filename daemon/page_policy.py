#!/usr/bin/env python3
"""page.html -> a header with the Content-Security-Policy that lets this page's own script and style
run and nothing else. Made by each build, so that the hashes can not be stale.

usage: page_policy.py page.html page_policy.h
"""

import base64
import hashlib
import html.parser
import sys


class Page(html.parser.HTMLParser):
    """The one script and the one style; fails at what the policy would forbid in the browser."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.inside = None
        self.found = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        for name, _ in attributes:
            if name == "style" or name == "src" or name.startswith("on"):
                sys.exit(f"page.html, line {self.getpos()[0]}: {tag} with {name}=")
        if tag in ("script", "style"):
            if tag in self.found:
                sys.exit(f"page.html, line {self.getpos()[0]}: a second {tag}")
            self.inside, self.found[tag] = tag, ""

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.found[self.inside] += data

    def source(self, tag):
        digest = hashlib.sha256(self.found[tag].encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


def main(page_path, header_path):
    # As the browser reads it: bytes of UTF-8, ends of lines as they are (it has no CR).
    with open(page_path, encoding="utf-8", newline="") as file:
        text = file.read()
    if "\r" in text:
        sys.exit("page.html: CR, which a browser would read as LF")
    page = Page(text)
    rules = (
        "default-src 'none'",
        f"script-src {page.source('script')}",
        f"style-src {page.source('style')}",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    with open(header_path, "w", encoding="ascii") as file:
        file.write("/* Made by page_policy.py from page.html. */\n")
        file.write("#ifndef IDMINT_PAGE_POLICY_H\n#define IDMINT_PAGE_POLICY_H\n\n")
        file.write("#define PAGE_POLICY \\\n    \"%s\"\n\n#endif\n" % '; " \\\n    "'.join(rules))


main(*sys.argv[1:])
