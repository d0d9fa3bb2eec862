"""The tests' API at its own https host name on the loopback address, and a name server for that name."""

import socket
import struct
import threading

from harness import FakeApi

HOST = "translations.example.com"


def serve(fake_api, folder):
    """The API at https://HOST with one repository, and a name server; FOLDER/ca.pem is the root to trust."""
    serve_names(HOST)
    api = FakeApi(fake_api, str(folder), HOST)
    api.put((7, "acme/website", {"de": 62.5, "fr": 100}))
    return api


def serve_names(host):
    """A name server on 127.0.0.1:53 that resolves this host to 127.0.0.1, and no other name."""
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
