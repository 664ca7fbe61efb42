"""The status page's tools in a real Chromium: ObjectIds, and forms that ask before they take."""

import re

from metrics import Scrape
import pytest
from selenium.webdriver.common.keys import Keys

OID = r"[0-9a-f]{24}"


@pytest.fixture
def page(chromium, served):
    chromium.size(1280)
    chromium.violations()
    chromium.open(f"http://{served.http}/")
    chromium.wait_text("#version", "version")
    yield chromium
    assert chromium.violations() == []
    chromium.open("about:blank")


def lines(page, result):
    page.wait(lambda: page.all(f"{result} textarea"), "values")
    return page.find(f"{result} textarea").get_property("value").split("\n")


def refused(page, form, result, field):
    """The form as it is: what is said of it."""
    page.click(f"{form} form button, form{form} button")
    page.wait(lambda: page.all(f"{result} .fault"), "an error in words")
    assert page.find(field).get_dom_attribute("aria-invalid") == "true"
    assert page.run("return '#' + document.activeElement.id") == field
    return page.text(result)


# --- ObjectIds


def test_make(page, client):
    page.click("#make button")
    (one,) = lines(page, "#make-result")
    assert re.fullmatch(OID, one)
    page.write("#make-count", "100" + Keys.ENTER)
    page.wait_text("#make-result label", "100 ObjectIds")
    made = lines(page, "#make-result")
    assert len(set(made)) == 100 and made == sorted(made) and one < made[0]
    assert made[-1] < client.call("OID").decode()


@pytest.mark.parametrize("count", ["", "0", "101", "-1", "1.5", "1e2"])
def test_make_refuses(count, page):
    page.write("#make-count", count)
    said = refused(page, "#make", "#make-result", "#make-count")
    assert said == "How many? Give a whole number from 1 to 100."
    page.write("#make-count", "2" + Keys.ENTER)
    assert len(lines(page, "#make-result")) == 2
    assert page.find("#make-count").get_dom_attribute("aria-invalid") is None


def test_copy(page, served):
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    page.cdp("Browser.grantPermissions", permissions=permissions, origin=f"http://{served.http}")
    page.write("#make-count", "3" + Keys.ENTER)
    made = lines(page, "#make-result")
    page.click("#make-result .row button")
    page.wait_text("#make-result .row", "Copied.")
    script = "navigator.clipboard.readText().then(arguments[0], f => arguments[0](String(f)))"
    assert page.driver.execute_async_script(script).split("\n") == made


def test_copy_where_the_clipboard_is_not_to_be_had(page):
    """As over plain HTTP from afar."""
    page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.write("#make-count", "3" + Keys.ENTER)
    made = lines(page, "#make-result")
    page.click("#make-result .row button")
    page.wait_text("#make-result .row", "Copied.")
    page.write("#decode-id", Keys.CONTROL + "v")
    assert page.find("#decode-id").get_property("value").startswith(made[0])
    page.run("document.execCommand = () => false")
    page.click("#make-result .row button")
    page.wait_text("#make-result .row", "copy them by hand")
    assert page.run("return document.activeElement.value.split('\\n').length") == 3


def test_download(page, tmp_path):
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.write("#make-count", "5" + Keys.ENTER)
    made = lines(page, "#make-result")
    page.click("#make-result .row button + button")
    page.wait(lambda: (tmp_path / "objectids.txt").exists(), "the file")
    assert (tmp_path / "objectids.txt").read_text() == "\n".join(made) + "\n"
    page.wait_text("#make-result .row", "objectids.txt")


def facts(page):
    page.wait(lambda: page.all("#decode-result dd"), "facts")
    names = [name.text for name in page.all("#decode-result dt")]
    return dict(zip(names, [value.text for value in page.all("#decode-result dd")]))


def test_decode(page):
    page.cdp("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    try:
        page.write("#decode-id", "507f1f77bcf86cd799439011" + Keys.ENTER)
        assert facts(page) == {
            "UTC": "2012-10-17T21:13:27Z",
            "Local time": "Thursday, October 18, 2012 at 02:43:27 GMT+5:30",
            "Unix seconds": "1350508407",
            "Random value": "bcf86cd799",
            "Counter": "4427793",
            "Legacy reading": "machine bcf86c, process 55193",
        }
    finally:
        page.cdp("Emulation.setTimezoneOverride", timezoneId="")


@pytest.mark.parametrize(
    "text",
    [
        "6553f1003f2a91c8d4003039",
        "6553F1003F2A91C8D4003039",
        "'6553f1003f2a91c8d4003039'",
        "ObjectId('6553f1003f2a91c8d4003039')",
        ' ObjectId("6553f1003f2a91c8d4003039") ',
    ],
)
def test_decode_as_it_stands_in_a_log(text, page):
    page.write("#decode-id", text + Keys.ENTER)
    assert facts(page)["UTC"] == "2023-11-14T22:13:20Z"
    assert facts(page)["Random value"] == "3f2a91c8d4" and facts(page)["Counter"] == "12345"


def test_decode_what_was_made(page):
    page.click("#make button")
    (made,) = lines(page, "#make-result")
    page.write("#decode-id", made)
    page.click("#decode button")
    assert facts(page)["Counter"] == str(int(made[18:], 16))


def test_decode_the_last_second(page):
    page.write("#decode-id", "f" * 24 + Keys.ENTER)
    assert facts(page)["UTC"] == "2106-02-07T06:28:15Z"


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "Give an ObjectId: 24 hexadecimal digits."),
        ("507f1f77bcf86cd79943901", "An ObjectId has 24 hexadecimal digits; this has 23."),
        ("507f1f77bcf86cd7994390111", "An ObjectId has 24 hexadecimal digits; this has 25."),
        ("507f1f77bcf8-cd799439011", "“-” at place 13 is no hexadecimal digit"),
        ("<img src=x onerror=alert(1)>", "“<” at place 1 is no hexadecimal digit"),
        ("../counters/orders", "“.” at place 1 is no hexadecimal digit"),
    ],
)
def test_decode_refuses_in_words(text, said, page):
    page.write("#decode-id", text)
    assert refused(page, "#decode", "#decode-result", "#decode-id").startswith(said)


# --- Counters


def ask_to_take(page, name, count):
    page.write("#take-name", name)
    page.write("#take-count", count)
    page.click("#take button")
    page.wait(lambda: page.find("#confirm").is_displayed(), "the question")


def test_take_asks_first(page, client):
    ask_to_take(page, "asked", "3")
    assert page.text("#confirm-title") == "Take 3 values of asked?"
    assert "Taken values are never given back" in page.text("#confirm-text")
    assert page.run("return document.activeElement.value") == "cancel"
    assert client.call("EXISTS", "asked") == 0
    page.click("#confirm-yes")
    assert page.wait_text("#take-result", "Taken of") == "Taken of asked: 1 to 3"
    assert client.call("GET", "asked") == b"3"
    page.wait_text("#rows", "asked")  # the table knows of it


@pytest.mark.parametrize("way", ["cancel", "escape", "enter"])
def test_take_that_is_not_confirmed_takes_nothing(way, page, client):
    ask_to_take(page, f"no-{way}", "1")
    if way == "cancel":
        page.click("#confirm button[value=cancel]")
    else:  # Enter: what is in focus first is to cancel
        key = Keys.ESCAPE if way == "escape" else Keys.ENTER
        page.driver.switch_to.active_element.send_keys(key)
    page.wait(lambda: not page.find("#confirm").is_displayed(), "the end of the question")
    assert page.run("return document.activeElement.closest('form').id") == "take"
    ask_to_take(page, f"yes-{way}", "1")
    page.click("#confirm-yes")
    page.wait_text("#take-result", f"Taken of yes-{way}: 1")
    assert client.call("EXISTS", f"no-{way}") == 0
    assert client.call("GET", f"yes-{way}") == b"1"


def test_an_answer_holds_for_one_question(page, client):
    ask_to_take(page, "twice", "1")
    page.click("#confirm-yes")
    page.wait_text("#take-result", "Taken of twice: 1")
    ask_to_take(page, "twice", "1")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait(lambda: not page.find("#confirm").is_displayed(), "the end of the question")
    page.click("#make button")
    lines(page, "#make-result")
    assert client.call("GET", "twice") == b"1"


def test_take_great_values(page, client):
    client.call("COUNTER", "CREATE", "big", "MAX", 2**63 - 1, "VALUE", 2**53 + 1)
    ask_to_take(page, "big", "2")
    page.click("#confirm-yes")
    page.wait_text("#take-result", f"{2**53 + 2} to {2**53 + 3}")


def test_take_refuses_in_words(page, client):
    page.write("#take-name", "")
    said = refused(page, "#take", "#take-result", "#take-name")
    assert said == "Give the counter's name."
    page.write("#take-name", "orders")
    page.write("#take-count", "0")
    said = refused(page, "#take", "#take-result", "#take-count")
    assert said == "How many? Give a whole number from 1 to 1,000,000,000."
    client.call("COUNTER", "CREATE", "full", "MAX", 10, "VALUE", 10)
    for name, word in [("full", "EXHAUSTED: "), ("two words", "ERR: "), ("..", "ERR: ")]:
        ask_to_take(page, name, "1")
        page.click("#confirm-yes")
        assert page.wait_text("#take-result .fault", word).startswith(word)


# --- UUIDs


def make_uuids(page, count, version, plain=False):
    page.write("#uuid-count", count)
    page.click(f"#uuid-version option[value='{version}']")
    if page.find("#uuid-plain").is_selected() != plain:
        page.click("#uuid-plain")
    page.click("#uuid button")
    page.wait(lambda: page.find("#confirm").is_displayed(), "the question")
    assert "Taken values are never given back" in page.text("#confirm-text")
    page.click("#confirm-yes")
    return lines(page, "#uuid-result")


def test_uuids(page):
    made = make_uuids(page, "3", 7)
    pattern = r"[0-9a-f]{8}-[0-9a-f]{4}-%d[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert len(made) == 3 and all(re.fullmatch(pattern % 7, uuid) for uuid in made)
    assert made == sorted(made)
    made = make_uuids(page, "100", 4)
    assert len(set(made)) == 100 and all(re.fullmatch(pattern % 4, uuid) for uuid in made)
    (one,) = make_uuids(page, "1", 7, plain=True)
    assert re.fullmatch("[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", one)


def test_uuids_that_are_not_confirmed(page, served):
    before = Scrape(served)
    page.click("#uuid button")
    page.wait(lambda: page.find("#confirm").is_displayed(), "the question")
    assert page.text("#confirm-title") == "Make 1 UUID?"
    page.click("#confirm button[value=cancel]")
    page.wait(lambda: not page.find("#confirm").is_displayed(), "the end of the question")
    page.click("#make button")  # what the page asks for comes in order
    lines(page, "#make-result")
    assert Scrape(served).since(before, "issued_total", "kind") == {"oid": 1}
    assert not page.all("#uuid-result textarea")


def test_uuids_refused_in_words(page):
    page.write("#uuid-count", "101")
    said = refused(page, "#uuid", "#uuid-result", "#uuid-count")
    assert said == "How many? Give a whole number from 1 to 100."
