"""An account to try the page with: 40 repositories by 25 languages, with three weeks of history that the program itself has recorded.

`python3 tests/web/account.py [FOLDER]` serves it until Enter is pressed.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import TARGET, Exporter, FakeApi, fake_time

PRODUCTS = [
    "admin", "analytics", "android-app", "api-docs", "auth", "billing", "blog", "booking", "careers", "checkout", "cms",
    "community", "courier-app", "crm", "dashboard", "emails", "events", "feedback", "gift-cards", "help-center", "inventory",
    "invoices", "ios-app", "kiosk", "legal", "loyalty", "maps", "newsletter", "notifications", "onboarding", "partner-portal",
    "payments", "pricing", "returns", "reviews", "search", "store-locator", "supplier-hub", "tracking", "webshop",
]  # fmt: skip
LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish",
    "et": "Estonian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nb": "Norwegian", "nl": "Dutch", "pl": "Polish", "pt-BR": "Portuguese (Brazil)", "ro": "Romanian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "zh-Hans": "Chinese (simplified)",
}  # fmt: skip
DAYS = 21
UNREADABLE = "store-locator"
FALLEN = {("help-center", "pl"), ("payments", "ko")}
BEHIND = {"th": 2, "he": 3, "ar": 3, "ko": 4, "et": 5}  # of these languages, one translation in so many is ready


def completion(product, code, day):
    """The completion at the end of a day, of which the last is 0."""
    seed = sum(ord(letter) * at for at, letter in enumerate(f"{product}/{code}", 7)) % 1009
    if (product, code) in FALLEN:
        return 96.0 if day < -3 else 58.0 + day
    if product in ("legal", "careers", "newsletter", "kiosk", "maps") or seed % 10 < (0 if code in BEHIND and seed % BEHIND[code] else 5):
        return 100.0
    if seed % 10 == 5:
        return 100.0 if day > seed % 30 - 20 else 97.0 + day / 10
    last = 30 + seed % 67  # the completion of today
    if seed % 10 == 6:  # stands still for 8 to 20 days
        return last + min(0, (day + 8 + seed % 13)) * 0.8
    return max(5.0, last + day * (0.1 + seed % 23 / 10))


def put(api, day):
    def languages(product):
        return [{"code": code, "name": name, "completion": completion(product, code, day)} for code, name in LANGUAGES.items()]

    repositories = [
        {"id": id, "name": f"northwind/{product}", "answer": json.dumps(languages(product))} for id, product in enumerate(PRODUCTS, 1)
    ]
    api.command("put", [*repositories, {"id": 99, "name": "northwind/sandbox", "answer": "[]"}])


def configuration(api, today):
    """The configuration of the account, as YAML."""

    def day(offset):
        return str(today + datetime.timedelta(days=offset))

    targets = [
        {"repositories": ["northwind/webshop"], "languages": ["de", "fr", "es", "it", "nl", "pl", "ja"], "ratio": 0.95, "due": day(-3)},
        {"repositories": ["northwind/checkout"], "due": day(-10)},
        {"repositories": ["northwind/payments", "northwind/billing"], "due": day(5)},
        {"repositories": ["northwind/*-app"], "ratio": 0.9, "due": day(12)},
        {"repositories": ["northwind/help-center"], "ratio": 0.8, "due": day(59)},
        {"repositories": ["northwind/blog"], "languages": ["et", "he", "th"], "ratio": 0},
    ]
    return json.dumps({
        "api": {"base_url": api.url, "key": FakeApi.KEY, "requests_per_second": 0},
        "filter": {"exclude": ["northwind/sandbox"]},
        "links": {"repository": "https://translate.example.com/{repo}", "language": "https://translate.example.com/{repo}/{language}"},
        "targets": targets,
        "state": {"file": "state.json"},
    })  # fmt: skip


def record(api, program, folder, hours=0):
    """Writes config.yaml and state.json into the folder: the readings of three weeks, the last of them `hours` ago."""
    (folder / "config.yaml").write_text(configuration(api, datetime.datetime.now(datetime.UTC).date()))
    command = [program, "once", "--config.file=config.yaml", "--output=badge"]
    for day in range(-DAYS, 1):
        put(api, day)
        (folder / "clock").write_text(f"-{-day * 24 + hours}h")
        environment = os.environ | fake_time(folder / "clock")
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return [program, "--config.file=config.yaml"]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    with FakeApi(TARGET / "debug/examples/fake-api") as api:
        command = record(api, TARGET / "debug/translation-exporter", folder)
        api.command("lose", [1 + PRODUCTS.index(UNREADABLE)])
        with Exporter.start(folder, [*command, "--web.listen-address=127.0.0.1:0"]) as exporter:
            input(f"{exporter.url}; Enter ends it\n")
