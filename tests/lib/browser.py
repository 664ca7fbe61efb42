"""Debian's Chromium without a window, by its driver."""

from daemon import wait_until
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # which root can not have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--lang=en-US",
)
# In each page before its own script: what its policy refused.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', event =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Browser:
    def __init__(self, *arguments, javascript=True):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (*ARGUMENTS, *arguments):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if not javascript:
            setting = {"profile.managed_default_content_settings.javascript": 2}
            options.add_experimental_option("prefs", setting)
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_page_load_timeout(60)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def quit(self):
        self.driver.quit()

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, url):
        self.driver.get(url)

    def size(self, width, height=900):
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name):
        feature = {"name": "prefers-color-scheme", "value": name}
        self.cdp("Emulation.setEmulatedMedia", features=[feature])

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def click(self, selector):
        """In the middle of the window, where the header that stays covers nothing."""

        def click():
            element = self.find(selector)
            self.run("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.wait(click, selector)

    def write(self, selector, text):
        element = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.clear()
        element.send_keys(text)

    def wait(self, condition, what):
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False  # it is being drawn anew

        return wait_until(holds, what)

    def wait_text(self, selector, part):
        """Waits until it is there; the whole text."""
        self.wait(lambda: part in self.text(selector), f"{part!r} in {selector}")
        return self.text(selector)

    def violations(self):
        """Of the page's policy: what the page met, and what the browser logged."""
        logged = [entry["message"] for entry in self.driver.get_log("browser")]
        refused = [line for line in logged if "Content Security Policy" in line]
        return refused + (self.run("return window.violations") or [])
