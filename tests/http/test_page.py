"""The status page in a real Chromium: what it shows, and that it bears bad names and bad days."""

import base64
import hashlib
import os
import re
import urllib.request

import axe_core_python
from browser import Browser
from daemon import wait_until
import pytest
from resp import Client, Error
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

LINKS = ["/healthz", "/readyz", "/metrics", "/v1/info", "/openapi.yaml"]
AXE = os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js")
HOSTILE = [
    "<img/src=x/onerror=window.hacked=1>",
    "\"'><svg/onload=window.hacked=1>",
    "</td></table><script>window.hacked=1</script>",
    "&lt;b&gt;&amp;",
    "javascript:window.hacked=1",
    "${window.hacked=1}{{7*7}}",
    "a/b?c=d&e#f%2e%2e%00+",
    "\u202etxt.exe",  # turns the direction of what follows
    "\u0639\u062f\u0627\u062f/\u05de\u05d5\u05e0\u05d4",
    "'; DROP TABLE counters; --".replace(" ", "_"),
    "\U0001f512\u0301\ufeff",
    "\u00e9" * 127 + "x",  # 255 bytes
    "w" * 255,
]


@pytest.fixture
def browser(chromium):
    """As it is by default; no test may have met the page's policy."""
    chromium.scheme("light")
    chromium.size(1280)
    chromium.violations()
    yield chromium
    assert chromium.violations() == []
    assert not chromium.run("return window.hacked")
    chromium.open("about:blank")


@pytest.fixture
def served(start_daemon):
    return start_daemon(http="127.0.0.1:0")


def url(daemon, path="/"):
    return f"http://{daemon.http}{path}"


def open_page(browser, daemon):
    browser.open(url(daemon))
    browser.wait_text("#state", "live")


@pytest.fixture
def page(browser, served):
    open_page(browser, served)
    return browser


def fetch(daemon, path):
    with urllib.request.urlopen(url(daemon, path), timeout=60) as response:
        return response.headers, response.read().decode()


# --- Its first state, and its policy


def test_without_javascript(served):
    plain = Browser(javascript=False)
    try:
        plain.open(url(served))
        text = plain.text("main")
        assert "This is an idmint daemon" in text and "need JavaScript" in text
        links = [link.get_dom_attribute("href") for link in plain.all("#first a")]
        assert sorted(links) == sorted(LINKS)
        for control in plain.all("button, input, select, textarea, canvas, svg, footer"):
            assert not control.is_displayed(), control.get_attribute("outerHTML")
        for link in links:
            headers, body = fetch(served, link)
            assert body, link
    finally:
        plain.quit()


def test_the_policy_names_what_is_in_the_page_and_nothing_else(served):
    headers, text = fetch(served, "/")
    sources = {}
    for tag in ("script", "style"):
        (found,) = re.findall(f"<{tag}[^>]*>(.*?)</{tag}>", text, re.DOTALL)
        digest = hashlib.sha256(found.encode()).digest()
        sources[tag] = f"'sha256-{base64.b64encode(digest).decode()}'"
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": sources["script"],
        "style-src": sources["style"],
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert not re.search(r"""(https?:)?//[a-z0-9.-]+\.[a-z]{2,}""", text.replace("www.w3.org", ""))


def test_a_violation_of_the_policy_would_be_seen(chromium, served):
    open_page(chromium, served)
    chromium.violations()
    chromium.run("""
        const script = document.createElement('script');
        script.textContent = 'window.injected = 1';
        document.body.append(script);
        const image = document.createElement('img');
        image.src = '/healthz';
        document.body.append(image);
        document.body.insertAdjacentHTML('beforeend', '<b onclick="window.injected = 1">x</b>');
        document.body.lastChild.click();""")
    chromium.wait(lambda: chromium.run("return window.violations.length >= 3"), "violations")
    assert not chromium.run("return window.injected")
    assert len(chromium.violations()) >= 3


# --- What is going on


def test_live_values(page, client):
    assert not page.find("#first").is_displayed()
    assert page.text("#leader") == "this daemon"
    page.wait_text("#lease", "alone on this store")
    assert page.text("#store-state") == "answers"
    page.wait_text("#version", "version 0.")
    assert re.fullmatch(r"\d+ (s|min)( \d+ s)?", page.text("#uptime"))
    assert int(page.text("#connections")) >= 2
    page.wait_text("#store-facts", "sqlite")
    assert "It answers." in page.text("#ready")
    assert page.find("#alarm").is_displayed() is False

    def shown():
        """Draws until a whole second of it is shown."""
        for _ in range(20):
            client.call("OID")
            client.call("NEXT", "orders")
            client.call("UUID")
        values = [value.text for value in page.all("#charts b")]
        return len(values) == 8 and all(re.match(r"[1-9]", values[i]) for i in (0, 1, 2, 3, 5, 7))

    page.wait(shown, "rates")
    units = [value.text.split(" ")[-1] for value in page.all("#charts b")[5:]]
    assert all(unit in ("µs", "ms", "s") for unit in units)
    assert all(path.get_dom_attribute("d").startswith("M") for path in page.all("#charts path"))
    asked = page.run("""return performance.getEntriesByType('resource')
        .map(entry => [new URL(entry.name).pathname, entry.responseStatus])""")
    assert ["/v1/info", 200] in asked
    assert [answer for answer in asked if answer[1] >= 400] == []


def test_a_lease_that_is_over_and_one_of_another_daemon(browser, store, start_daemon):
    shared = f"{store.uri}&shared=yes"
    daemon = start_daemon(store=shared, http="127.0.0.1:0", settings={"mongo.lease": "2s"})
    try:
        open_page(browser, daemon)
        assert re.fullmatch(r"epoch 1, lease [012] s", browser.wait_text("#lease", "epoch"))
        assert browser.text("#leader") == "this daemon"
        store.set("not_done")
        browser.wait_text("#leader", "none leads at the moment")
        browser.wait_text("#lease", "epoch 1 is over")
        assert browser.run("""
            info = {...info, leader_address: '10.0.0.6:7377', lease_epoch: 8};
            drawNow({...samples[samples.length - 1], leads: false});
            return ['leader', 'lease'].map(id => $(id).textContent)""") == [
            "10.0.0.6:7377",
            "epoch 8",
        ]
        store.set("ok")
        browser.wait_text("#leader", "this daemon")
        browser.wait_text("#lease", ", lease ")
    finally:
        store.set("ok")


def test_charts_by_keyboard_and_pointer(page):
    page.wait(lambda: page.run("return samples.length >= 5"), "five samples")
    chart = page.find("#charts svg")
    page.run("arguments[0].focus()", chart)
    assert chart.get_dom_attribute("aria-valuetext").startswith("now: ObjectIds ")
    chart.send_keys(Keys.ARROW_LEFT * 3)
    assert chart.get_dom_attribute("aria-valuenow") == "-3"
    assert chart.get_dom_attribute("aria-valuetext").startswith("3 s ago: ObjectIds 0, counter")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert [when.text for when in page.all(".axis span:last-child")] == ["2 s ago"] * 4
    chart.send_keys(Keys.HOME)
    assert page.text("#charts b") == "–"  # nothing is known of that time
    chart.send_keys(Keys.END)
    assert chart.get_dom_attribute("aria-valuetext").startswith("now")
    chart.send_keys(Keys.TAB)
    width = chart.size["width"]
    ActionChains(page.driver).move_to_element_with_offset(chart, width // 4, 0).perform()
    assert page.text(".axis span:last-child") in ("29 s ago", "30 s ago", "31 s ago")
    ActionChains(page.driver).move_to_element(page.find("#now-title")).perform()
    assert page.text(".axis span:last-child") == "now"


def test_recent_warnings(page, served):
    page.wait_text("#warnings", "None since this daemon started.")
    with Client(served.address) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: <b>x\r\n\r\n")
        client.expect_end()
    page.wait_text("#warnings-list", "speaks HTTP to the line protocol's port")
    assert page.text("#warnings-list .level") == "warning"
    moment = page.find("#warnings-list time").get_dom_attribute("datetime")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[0-9:.]+Z", moment)
    assert not page.find("#no-warnings").is_displayed()


# --- Counters


def names_shown(page):
    return [cell.text for cell in page.all("#rows td.name bdi")]


def wait_names(page, names):
    page.wait(lambda: names_shown(page) == names, f"rows {names}")


def test_counters_by_pages(page, client):
    assert "No counter yet" in page.wait_text("#page-note", "No counter")
    names = [f"app.n{i:02}" for i in range(45)]
    for name in names:
        client.call("NEXT", name, 3)
    page.click("#search button")
    wait_names(page, names[:20])
    assert page.text("#page-note") == "Page 1: 20 counters"
    assert not page.find("#previous").is_enabled()
    page.click("#next")
    wait_names(page, names[20:40])
    page.click("#next")
    wait_names(page, names[40:])
    assert page.text("#page-note") == "Page 3: 5 counters, the last"
    assert not page.find("#next").is_enabled()
    page.click("#previous")
    wait_names(page, names[20:40])
    page.click("#previous")
    wait_names(page, names[:20])
    row = [cell.text for cell in page.all("#rows tr:first-child td")]
    assert row[1:7] == ["3", "< 0.1 %", "1", "1", "9007199254740991", "1"]


def test_counters_by_search(page, client):
    for name in ("orders", "orders.eu", "invoices"):
        client.call("NEXT", name)
    page.write("#prefix", "ord")
    wait_names(page, ["orders", "orders.eu"])
    page.write("#prefix", "orders." + Keys.ENTER)
    wait_names(page, ["orders.eu"])
    page.write("#prefix", "zzz")
    assert page.wait_text("#page-note", "No counter") == "No counter begins with that."
    page.write("#prefix", "x" * 256 + Keys.ENTER)
    page.wait(lambda: page.all("#page-note.fault"), "an error in words")
    assert page.text("#page-note").startswith("ERR: ")
    page.write("#prefix", Keys.ENTER)
    wait_names(page, ["invoices", "orders", "orders.eu"])
    assert not page.all("#page-note.fault")


def test_counters_kept_fresh(page, client):
    client.call("NEXT", "orders")
    page.click("#search button")
    wait_names(page, ["orders"])
    page.click("#follow")
    page.run("document.querySelector('#rows button').focus()")
    client.call("NEXT", "orders", 41)
    page.wait_text("#rows td.value", "42")
    assert page.run("return document.activeElement.closest('tr') !== null")  # the row is another


def test_great_numbers_and_headroom(page, client):
    client.call("COUNTER", "CREATE", "big", "MAX", 2**63 - 1, "VALUE", 2**63 - 3)
    client.call("COUNTER", "CREATE", "fresh", "START", -5, "STEP", 10, "MAX", 95, "CACHE", 7)
    client.call("COUNTER", "CREATE", "near", "MAX", 1000, "VALUE", 951)
    page.click("#search button")
    wait_names(page, ["big", "fresh", "near"])
    cells = [cell.text for cell in page.all("#rows td")]
    rows = [cells[i : i + 8] for i in range(0, len(cells), 8)]
    assert rows[0][1:7] == [str(2**63 - 3), "100.0 %", "1", "1", str(2**63 - 1), "1"]
    assert rows[1][1:7] == ["-15", "0 %", "-5", "10", "95", "7"]
    assert rows[2][2] == "95.1 %"
    assert [cell.text for cell in page.all("#rows .bad-text")] == ["100.0 %", "95.1 %"]


def test_hostile_names(page, client):
    for name in HOSTILE:
        assert client.call("NEXT", name.encode()) == 1, name
    page.click("#search button")
    # textContent: what is drawn has its own order of directions.
    script = "return [...document.querySelectorAll('#rows td.name bdi')].map(b => b.textContent)"
    page.wait(lambda: len(page.run(script)) == len(HOSTILE), "all rows")
    names = page.run(script)
    assert names == sorted(HOSTILE, key=str.encode)
    made = "return document.querySelectorAll('img, svg:not(#charts svg), td b').length"
    assert page.run(made) == 0
    for row, name in enumerate(names, 1):
        page.click(f"#rows tr:nth-child({row}) button")
        assert page.run("return document.activeElement.id") == "take-count"
        page.click("#take button")
        title = page.run("return document.querySelector('#confirm-title bdi').textContent")
        assert title == name
        page.click("#confirm-yes")
        page.wait(lambda: page.all("#take-result strong"), "values")
        assert page.text("#take-result strong") == "2"
        assert page.run("return document.querySelector('#take-result bdi').textContent") == name
        assert client.call("GET", name.encode()) == b"2"
    assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    for name in names:  # a prefix is data, too
        page.run("document.getElementById('prefix').value = arguments[0]", name)
        page.find("#prefix").send_keys(Keys.ENTER)
        page.wait(lambda: page.run(script) == [name], name)


# --- Bad days


def test_the_daemon_goes_away_and_comes_back(page, served, client):
    client.call("NEXT", "orders")
    served.kill()
    page.wait_text("#state", "not connected")
    alarm = page.find("#alarm")
    assert alarm.is_displayed() and alarm.get_dom_attribute("role") == "alert"
    assert alarm.text.startswith("The daemon does not answer since ")
    assert "gone" in page.driver.title
    page.click("#make button")
    said = page.wait_text("#make-result .fault", "does not answer")
    assert "lost" in said and "never issued again" in said
    page.click("#search button")
    assert page.wait_text("#page-note.fault", "does") == "The daemon does not answer."
    served.restart()
    page.wait_text("#state", "live")
    assert not page.find("#alarm").is_displayed() and page.driver.title == "idmint"
    page.click("#search button")
    wait_names(page, ["orders"])
    page.click("#make button")
    page.wait(lambda: page.all("#make-result textarea"), "an id")


def test_more_pages_than_a_browser_has_connections(browser, served):
    first = browser.driver.current_window_handle
    try:
        for _ in range(8):
            browser.driver.switch_to.new_window("tab")
            open_page(browser, served)
        browser.click("#make button")
        browser.wait(lambda: browser.all("#make-result textarea"), "an id")
        back = browser.driver.window_handles[1]
        browser.driver.switch_to.window(back)
        samples = browser.run("return samples.length")
        browser.wait(lambda: browser.run("return samples.length") > samples, "news")
        browser.wait_text("#state", "live")
    finally:
        for handle in set(browser.driver.window_handles) - {first}:
            browser.driver.switch_to.window(handle)
            browser.driver.close()
        browser.driver.switch_to.window(first)


def test_the_store_goes_away_and_comes_back(browser, store, start_daemon):
    daemon = start_daemon(store=store.uri, http="127.0.0.1:0")
    try:
        open_page(browser, daemon)
        store.set("not_done")
        with Client(daemon.address) as client:
            assert isinstance(client.call("NEXT", "orders"), Error)
            browser.wait_text("#state", "store down")
            assert browser.text("#alarm").startswith("The store does not answer.")
            browser.wait_text("#alarm", "Why: ")
            assert browser.text("#store-state") == "does not answer"
            assert "It does not answer: " in browser.wait_text("#ready", "not")
            assert "store down" in browser.driver.title
            browser.write("#take-name", "orders")
            browser.click("#take button")
            browser.click("#confirm-yes")
            assert browser.wait_text("#take-result .fault", ":").startswith("TRYAGAIN: ")
            store.set("ok")
            wait_until(lambda: client.call("NEXT", "orders") == 1, "the store")
            browser.wait_text("#state", "live")
            assert not browser.find("#alarm").is_displayed()
            browser.wait_text("#ready", "It answers.")
    finally:
        store.set("ok")


def test_with_a_password(browser, start_daemon, tmp_path):
    path = tmp_path / "passwords"
    path.touch(0o600)
    path.write_text("open-sesame\n")
    daemon = start_daemon(http="127.0.0.1:0", settings={"auth.password_file": path})
    browser.open(url(daemon))
    assert not browser.all("#state")  # the browser asks for the password; here, nobody answers
    browser.open(f"http://default:open-sesame@{daemon.http}/")
    browser.wait_text("#state", "live")
    browser.wait_text("#version", "version 0.")
    browser.click("#make button")
    browser.wait(lambda: browser.all("#make-result textarea"), "an id")


# --- Looks


def inaccessible(page):
    """What axe finds fault with."""
    with open(AXE, encoding="utf-8") as file:
        page.run(file.read())
    return page.driver.execute_async_script("""
        const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
          .then(result => done(result.violations.map(v =>
            `${v.id}: ${v.nodes.map(n => `${n.target} ${n.failureSummary}`).join('; ')}`)))
          .catch(fault => done([String(fault)]));""")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(scheme, page, served, client):
    page.scheme(scheme)
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(244, 246, 248)") is (scheme == "light")
    client.call("COUNTER", "CREATE", "near", "MAX", 1000, "VALUE", 951)
    page.click("#search button")
    wait_names(page, ["near"])
    page.click("#make button")
    page.wait(lambda: page.all("#make-result textarea"), "an id")
    page.write("#decode-id", "wrong" + Keys.ENTER)
    page.wait(lambda: page.all("#decode-result .fault"), "an error")
    assert inaccessible(page) == []
    page.write("#decode-id", "507f1f77bcf86cd799439011" + Keys.ENTER)
    page.write("#take-name", "near" + Keys.ENTER)
    assert page.find("#confirm").is_displayed()
    assert inaccessible(page) == []
    page.click("#confirm-yes")
    page.wait(lambda: page.all("#take-result strong"), "a value")
    served.kill()
    page.wait_text("#state", "not connected")
    assert inaccessible(page) == []


def test_what_is_not_accessible_would_be_found(page):
    page.run("""document.querySelector('label[for=prefix]').remove();
        document.getElementById('now-title').className = 'bad-text';
        document.getElementById('now').style.backgroundColor = 'var(--bad)';""")
    assert {line.split(":")[0] for line in inaccessible(page)} >= {"label", "color-contrast"}


def test_on_a_phone(browser, served, client):
    browser.size(360, 740)
    for name in ("w" * 255, "orders"):
        client.call("COUNTER", "CREATE", name, "MAX", 2**63 - 1, "VALUE", 2**63 - 2)
    open_page(browser, served)
    wait_names(browser, ["orders", "w" * 255])
    browser.write("#make-count", "100" + Keys.ENTER)
    browser.wait(lambda: browser.all("#make-result textarea"), "ids")
    browser.write("#decode-id", "507f1f77bcf86cd799439011" + Keys.ENTER)
    browser.wait(lambda: browser.all("#decode-result dl"), "facts")
    browser.write("#take-name", "w" * 255)
    fits = "return document.documentElement.scrollWidth <= 360"
    assert browser.run(fits)
    browser.click("#take button")
    assert browser.run(fits)
    assert browser.run("""const box = document.getElementById('confirm').getBoundingClientRect();
        return box.left >= 0 && box.right <= 360""")
    browser.click("#confirm button[value=cancel]")
    wide = browser.run("""
        return [...document.querySelectorAll('#rows td, section, button, input, dd')]
            .filter(e => e.getBoundingClientRect().right > 360).map(e => e.outerHTML)""")
    assert wide == []
    low = browser.run("""
        return [...document.querySelectorAll('button, input:not([type=checkbox]), select')]
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24)
            .map(e => e.outerHTML)""")
    assert low == []
    assert browser.find("#rows .also").is_displayed()  # in place of the columns
    assert not any(cell.is_displayed() for cell in browser.all("#counters .extra, #counters th"))
    # Two of a row's cells may not lie on each other.
    assert browser.run("""const box = s => document.querySelector(s).getBoundingClientRect();
        return box('#rows td.value').right <= box('#rows td.used').left""")


def test_by_keyboard_alone(browser, served, client):
    page = browser
    client.call("NEXT", "orders")
    open_page(page, served)
    wait_names(page, ["orders"])
    seen, unmarked = [], []
    for _ in range(60):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = page.run("""const e = document.activeElement;
            return [e.id || e.textContent.trim() || e.getAttribute('aria-label'),
                    e === document.body ? 'body' : getComputedStyle(e).outlineStyle]""")
        if outline == "body":
            break
        seen.append(name)
        if outline == "none":
            unmarked.append(name)
    assert unmarked == []
    assert seen[0] == "Skip to the content"
    order = ["Counters", "prefix", "Search", "follow", "Take…", "make-count", "decode-id"]
    order += ["take-name", "take-count", "uuid-count", "uuid-version", "uuid-plain"]
    places = [seen.index(name) for name in order]
    assert places == sorted(places)
