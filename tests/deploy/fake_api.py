"""An API of one repository and two languages on the loopback address, which accepts one key at a time; a name and a certificate
for it."""

import http.server
import json
import pathlib
import socket
import ssl
import struct
import subprocess
import threading


class FakeApi:
    """Serves until the process ends. `key` may be changed at any time; None refuses every key.

    Given a host's name and a folder, it serves https on port 443, and FOLDER/ca.pem is the root to trust."""

    def __init__(self, key, host=None, folder=None):
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

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 443 if host else 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        if host:
            self.url = f"https://{host}"
            server.socket = certified(host, pathlib.Path(folder)).wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()


def certified(host, folder):
    """A TLS context with a certificate for the host from a new authority, whose own one is FOLDER/ca.pem."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=test root", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *new_key, "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-keyout", "api.key", "-out", "api.csr")
    openssl("x509", "-req", "-in", "api.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-copy_extensions", "copy", "-out", "api.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "api.pem", folder / "api.key")
    return context


def serve_names(host):
    """A name server on 127.0.0.1:53 that knows one host, at 127.0.0.1, and that nothing else exists."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    known = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"

    def serve():
        while True:
            query, client = server.recvfrom(512)
            question = query[12 : query.index(b"\0", 12) + 5]
            name, (kind,) = question[:-4].lower(), struct.unpack("!H", question[-4:-2])
            answer = b""
            if name == known and kind == 1:
                answer = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton("127.0.0.1")
            flags = 0x8180 | (0 if name == known else 3)
            server.sendto(query[:2] + struct.pack("!HHHHH", flags, 1, 1 if answer else 0, 0, 0) + question + answer, client)

    threading.Thread(target=serve, daemon=True).start()


REPOSITORY = {"id": "7", "name": "acme/website", "private": False, "created_at": "2024-05-01T12:00:00Z"}
LANGUAGES = [
    {"code": "de", "name": "German", "completion": 62.5},
    {"code": "fr", "name": "French", "completion": 100},
]
