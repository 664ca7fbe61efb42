"""A page of somebody else's, in a real Chromium on the daemon's machine, can not reach the daemon,
though it listens on loopback without a password: each way a page has is refused, and nothing is
allocated. That the ways lead to the daemon at all is shown by one that was told to let them in."""

import http.server
import threading

from browser import Browser
from daemon import Daemon
from metrics import Scrape
import pytest
from resp import Client

pytestmark = pytest.mark.once

FOREIGN = ["evil.test", "127.0.0.1", "localhost"]  # the latter: other services of the machine


class Site(http.server.ThreadingHTTPServer):
    """Serves one empty page, under every name."""

    daemon_threads = True

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>foreign</title><body></body>")

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Page)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def origin(self, name):
        return f"http://{name}:{self.server_port}"

    def close(self):
        self.shutdown()
        self.server_close()


@pytest.fixture(scope="module")
def chromium():
    browser = Browser("--host-resolver-rules=MAP evil.test 127.0.0.1")
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def shut(tmp_path_factory):
    """In its default settings."""
    daemon = Daemon(tmp_path_factory.mktemp("data"), http="127.0.0.1:0").start()
    yield daemon
    daemon.stop()


@pytest.fixture(scope="module")
def opened(tmp_path_factory, site):
    """Told to let them in."""
    settings = {"http.origins": site.origin("evil.test"), "http.hosts": "evil.test"}
    folder = tmp_path_factory.mktemp("data")
    daemon = Daemon(folder, http="127.0.0.1:0", settings=settings).start()
    yield daemon
    daemon.stop()


class Watch:
    """What a daemon has done since."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.before = Scrape(daemon)

    def answers(self):
        """By status class, without the scrapes."""
        counts = Scrape(self.daemon).since(self.before, "http_requests_total", "status")
        counts["2xx"] = counts.get("2xx", 0) - 1
        return {status: count for status, count in counts.items() if count}

    def issued(self):
        return sum(Scrape(self.daemon).since(self.before, "issued_total", "kind").values())


# Each is a page's script; it ends by calling done with what the page could learn. `target` is
# the daemon's address as a URL.
FETCH = """fetch(target + path, options)
  .then(async r => done([r.type, r.status, r.type === 'opaque' ? '' : await r.text()]))
  .catch(fault => done(['refused', String(fault)]));"""
FORM = """
const frame = document.createElement('iframe');
frame.name = 'inside';
document.body.append(frame);
const form = document.createElement('form');
Object.assign(form, {method: 'POST', action: target + path, enctype, target: 'inside'});
const input = document.createElement('input');
[input.name, input.value] = ['{"name":"stolen","count":1,"x":"', '"}'];
form.append(input);
document.body.append(form);
frame.onload = () => done(['loaded']);
form.submit();"""
JSON = "{method: 'POST', mode: 'cors', headers: {'Content-Type': 'application/json'}, body: '{}'}"
WAYS = {
    "fetch": "const path = '/v1/oids', options = {method: 'POST'};" + FETCH,
    "fetch, no-cors": "const path = '/v1/oids', options = {method: 'POST', mode: 'no-cors'};"
    + FETCH,
    "fetch, no-cors, a body": "const path = '/v1/next', options = {method: 'POST', mode: 'no-cors',"
    """ headers: {'Content-Type': 'text/plain'}, body: '{"name":"stolen"}'};""" + FETCH,
    "fetch, JSON": f"const path = '/v1/oids', options = {JSON};" + FETCH,
    "fetch, credentials": "const path = '/v1/counters/stolen/next',"
    " options = {method: 'POST', mode: 'no-cors', credentials: 'include'};" + FETCH,
    "fetch, another method": "const path = '/v1/counters/stolen', options = {method: 'PUT'};" + FETCH,
    "fetch, read": "const path = '/v1/info', options = {};" + FETCH,
    "fetch, read, no-cors": "const path = '/v1/info', options = {mode: 'no-cors'};" + FETCH,
    "form": "const path = '/v1/oids', enctype = 'application/x-www-form-urlencoded';" + FORM,
    "form, text": "const path = '/v1/next', enctype = 'text/plain';" + FORM,
    "form, parts": "const path = '/v1/oids', enctype = 'multipart/form-data';" + FORM,
    "beacon": """
        navigator.sendBeacon(target + '/v1/oids');
        setTimeout(() => done(['sent']), 300);""",
    "image": """
        const image = new Image();
        image.onload = image.onerror = event => done([event.type]);
        image.src = target + '/v1/info';""",
    "script": """
        const script = document.createElement('script');
        script.onload = script.onerror = event => done([event.type]);
        script.src = target + '/v1/info';
        document.body.append(script);""",
    "events": """
        const source = new EventSource(target + '/v1/events');
        source.onopen = event => { source.close(); done(['open']); };
        source.onerror = event => { source.close(); done(['error']); };""",
    "socket": """
        const socket = new WebSocket(target.replace('http', 'ws') + '/v1/events');
        socket.onopen = () => done(['open']);
        socket.onerror = () => done(['error']);""",
}
LEARNT_NOTHING = (["refused"], ["opaque"], ["loaded"], ["sent"], ["error"])


def act(browser, page, way, target):
    browser.open(page)
    script = f"const target = arguments[0], done = arguments[1]; {WAYS[way]}"
    return browser.driver.execute_async_script(script, target)


def nothing_was_taken(daemon, watch):
    with Client(daemon.address) as client:
        assert client.call("EXISTS", "stolen") == 0
    assert watch.issued() == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_page_is_refused(name, way, chromium, site, shut):
    watch = Watch(shut)
    learnt = act(chromium, site.origin(name) + "/", way, f"http://{shut.http}")
    assert learnt[:1] in LEARNT_NOTHING, learnt
    answers = watch.answers()
    assert set(answers) == {"4xx"}, answers
    nothing_was_taken(shut, watch)


@pytest.mark.parametrize("way", WAYS)
def test_a_name_bound_to_loopback_is_refused(way, chromium, shut):
    """DNS rebinding: the page's own name is made to mean this machine, so that to the browser the
    daemon is the page's own server. The browser sends no foreign Origin; Host tells."""
    own = f"http://evil.test:{shut.http.rsplit(':', 1)[1]}"
    watch = Watch(shut)
    learnt = act(chromium, own + "/", way, own)
    assert "idmint daemon" not in chromium.driver.page_source
    if learnt[0] == "basic":  # it may read what it is told: that it is refused
        assert 400 <= learnt[1] < 500 and "server" not in learnt[2], learnt
    else:
        assert learnt[:1] in LEARNT_NOTHING, learnt
    answers = watch.answers()
    assert set(answers) == {"4xx"} and answers["4xx"] >= 2, answers
    nothing_was_taken(shut, watch)


@pytest.mark.parametrize("way", ["fetch", "fetch, no-cors", "beacon"])
def test_the_ways_lead_to_the_daemon(way, chromium, site, opened):
    """The control: where the origin is let in, the same scripts take an id each."""
    watch = Watch(opened)
    act(chromium, site.origin("evil.test") + "/", way, f"http://{opened.http}")
    chromium.wait(lambda: watch.issued() == 1, "an id")


def test_a_name_that_is_listed_leads_to_the_daemon(chromium, opened):
    chromium.open(f"http://evil.test:{opened.http.rsplit(':', 1)[1]}/")
    chromium.wait_text("#state", "live")
    chromium.click("#make button")
    chromium.wait(lambda: chromium.all("#make-result textarea"), "an id")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_loopbacks_own_names_are_served(host, chromium, shut):
    chromium.open(f"http://{host}:{shut.http.rsplit(':', 1)[1]}/")
    chromium.wait_text("#state", "live")


def test_the_page_can_not_be_framed(chromium, site, opened):
    """Else its buttons could be laid under a foreign page's."""
    chromium.open(site.origin("evil.test") + "/")
    chromium.driver.execute_async_script(
        """const frame = document.createElement('iframe');
        frame.onload = () => arguments[1]();
        frame.src = arguments[0];
        document.body.append(frame);""",
        f"http://{opened.http}/",
    )
    chromium.driver.switch_to.frame(0)
    assert not chromium.all("#state")
    chromium.driver.switch_to.default_content()


@pytest.mark.parametrize("way", ["form, text", "fetch, no-cors, a body", "form"])
def test_the_line_protocols_port_closes(way, chromium, site, shut):
    watch, before = Watch(shut), len(shut.log.lines)
    learnt = act(chromium, site.origin("evil.test") + "/", way, f"http://{shut.address}")
    assert learnt[:1] in LEARNT_NOTHING, learnt
    shut.log.wait("speaks HTTP to the line protocol's port", before)
    nothing_was_taken(shut, watch)
