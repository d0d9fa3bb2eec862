"""An API of one repository and two languages on the loopback address, which accepts one key at a time."""

import http.server
import json
import threading


class FakeApi:
    """Serves until the process ends. `key` may be changed at any time; None refuses every key."""

    def __init__(self, key, port=0):
        self.key = key
        self.accepted = []  # the keys of the listings that were answered with 200
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path, _, query = self.path.partition("?")
                if self.headers.get("Authorization") != f"Bearer {api.key}":
                    return self.answer(401, {"message": "unknown key"})
                if path == "/v1/repositories":
                    api.accepted.append(api.key)
                    first_page = "after=" not in query
                    return self.answer(200, [REPOSITORY] if first_page else [])
                if path == "/v1/repositories/7/languages":
                    return self.answer(200, LANGUAGES)
                return self.answer(404, {"message": "no such path"})

            def answer(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


REPOSITORY = {"id": "7", "name": "acme/website", "private": False, "created_at": "2024-05-01T12:00:00Z"}
LANGUAGES = [
    {"code": "de", "name": "German", "completion": 62.5},
    {"code": "fr", "name": "French", "completion": 100},
]
