"""As much of Prism's proxy as docs/api.md needs: prism.py OPENAPI SERVICE. Refuses a response that does not fit the description."""

import http.server
import json
import sys
import urllib.request
from pathlib import Path

import jsonschema
import yaml

DESCRIPTION, SERVICE = yaml.safe_load(Path(sys.argv[1]).read_text()), sys.argv[2]


class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = "/v1/repositories/{id}/languages" if "languages" in self.path else "/v1/repositories"
        content = DESCRIPTION["paths"][path]["get"]["responses"]["200"]["content"]
        try:
            with urllib.request.urlopen(SERVICE + self.path) as response:
                schema = content[response.headers.get_content_type()]["schema"] | {"components": DESCRIPTION["components"]}
                body = response.read()
            jsonschema.validate(json.loads(body), schema)
            self.send_response(200)
        except (KeyError, jsonschema.ValidationError) as violation:
            body = repr(violation).encode()
            self.send_response(500)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", 4010), Proxy).serve_forever()
