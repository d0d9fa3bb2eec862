"""What passes between an exporter and the demo API: a proxy that keeps every answer, and what follows from those.

The proxy can hold the next poll back: its first request gets no answer until it is let go. Until then nothing that the
exporter exposes of the API can change, and all of it has to follow from the answers that were given before.
"""

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass
class Answer:
    """An answer of the API, when it was asked for, and when it was handed to the exporter (seconds of the epoch)."""

    asked_at: float
    given_at: float
    path: str
    status: int
    body: bytes

    @property
    def is_listing(self) -> bool:
        return urlsplit(self.path).path == "/v1/repositories"

    @property
    def is_first_page(self) -> bool:
        return self.is_listing and "after" not in parse_qs(urlsplit(self.path).query)

    @property
    def repository(self) -> int | None:
        """The repository whose languages these are."""
        match = re.fullmatch(r"/v1/repositories/(\d+)/languages", self.path)
        return int(match[1]) if match else None

    def content(self) -> list[dict]:
        return json.loads(self.body)


class Recorder(ThreadingHTTPServer):
    """A proxy before the API at `upstream`, on a free port."""

    daemon_threads = True

    def __init__(self, upstream: str):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = urlsplit(upstream)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.answers: list[Answer] = []
        self.lock = threading.Lock()
        self.open = threading.Event()
        self.open.set()
        self.holding = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begins_poll(self, path: str) -> bool:
        """Whether a request for this is the first of a poll, and not the second try of one."""
        with self.lock:
            last = self.answers[-1] if self.answers else None
        asked = Answer(0, 0, path, 0, b"")
        return asked.is_first_page and not (last and last.is_first_page and last.status != 200)

    @contextmanager
    def held(self) -> Iterator[list[Answer]]:
        """Lets the poll under way end and holds the next one back meanwhile; gives all answers until then."""
        self.holding.clear()
        self.open.clear()
        try:
            if not self.holding.wait(60):
                raise TimeoutError("no poll began within 60 s")
            with self.lock:
                answers = list(self.answers)
            yield answers
        finally:
            self.open.set()


class Handler(BaseHTTPRequestHandler):
    """Passes a request on, keeps the answer, and hands it out."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Recorder

    def handle(self):
        with suppress(ConnectionError):  # the exporter may end
            super().handle()

    def do_GET(self):  # noqa: N802, the name that the base class asks for
        asked_at = time.time()
        if not self.server.open.is_set() and self.server.begins_poll(self.path):
            self.server.holding.set()
            self.server.open.wait()
        connection = http.client.HTTPConnection(self.server.upstream.netloc, timeout=20)
        connection.request("GET", self.path, headers={"Authorization": self.headers["Authorization"]})
        response = connection.getresponse()
        answer = Answer(asked_at, time.time(), self.path, response.status, response.read())
        with self.server.lock:
            self.server.answers.append(answer)
        self.send_response(response.status)
        for name in ("Content-Type", "Retry-After"):
            if value := response.headers[name]:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        connection.close()

    def log_message(self, *_):
        """The answers are kept; there is nothing to print."""


@dataclass
class Language:
    """A language as the API last reported it. The clock: when completion was first seen, rose, or fell from complete."""

    completion: float | None
    clock: float | None = None


@dataclass
class Repository:
    name: str
    languages: dict[str, Language] = field(default_factory=dict)
    read_at: float | None = None
    last_status: int | None = None


@dataclass
class Poll:
    began_at: float
    ended_at: float = 0.0
    is_listed: bool = False
    last_status: dict[int, int] = field(default_factory=dict)

    def read(self, wanted: set[int]) -> bool:
        """Whether it read everything."""
        return self.is_listed and {id for id, status in self.last_status.items() if status == 200} >= wanted


@dataclass
class Account:
    """What the answers say, read without anything of the exporter's. `scale` is the completion that means finished."""

    scale: float
    excluded: set[str]
    repositories: dict[int, Repository] = field(default_factory=dict)
    filtered: set[str] = field(default_factory=set)
    polls: list[Poll] = field(default_factory=list)

    @classmethod
    def of(cls, answers: list[Answer], scale: float, excluded: set[str]) -> "Account":
        account = cls(scale, excluded)
        before: Answer | None = None
        for answer in answers:
            if answer.is_first_page and not (before and before.is_first_page and before.status != 200):
                account.polls.append(Poll(answer.asked_at))
            account.take_in(answer, account.polls[-1])
            before = answer
        return account

    def take_in(self, answer: Answer, poll: Poll) -> None:
        poll.ended_at = answer.given_at
        if answer.is_listing:
            if answer.status == 200:
                self.list(answer.content(), poll)
            return
        assert answer.repository, f"the exporter asked for {answer.path}"
        poll.last_status[answer.repository] = answer.status
        repository = self.repositories[answer.repository]
        repository.last_status = answer.status
        if answer.status == 200:
            repository.read_at = answer.given_at
            repository.languages = {
                entry["code"]: self.read(repository.languages.get(entry["code"]), entry.get("completion"), answer)
                for entry in answer.content()
            }

    def list(self, page: list[dict], poll: Poll) -> None:
        poll.is_listed = not page
        for entry in page:
            if entry["name"] in self.excluded:
                self.filtered.add(entry["name"])
            else:
                self.repositories.setdefault(int(entry["id"]), Repository(entry["name"]))

    def read(self, known: Language | None, completion: float | None, answer: Answer) -> Language:
        before = known.completion if known else None
        if completion is None:
            return Language(None)
        moved = before is None or completion > before or before >= self.scale > completion
        return Language(completion, answer.given_at if moved else known.clock)

    def is_full(self, poll: Poll) -> bool:
        return poll.read(set(self.repositories))
