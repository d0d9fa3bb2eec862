"""Makes the pictures of the dashboards from the demo: `tests/draw/pictures.sh [MINUTES]`, which are 15 if not given.

Charts need that long to show something. The environment gives PROGRAM, the built program, and NODE_FOLDER, the folder with
Grafana's packages, which draw the dashboards; there is no Grafana server.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from dashboards import FOLDER, ROOT
from harness import Prometheus, address, running

MINUTES = int(sys.argv[1]) if len(sys.argv) > 1 else 15
PICTURES = ROOT / ".github" / "pictures"

with ExitStack() as stack:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    log = folder / "demo.log"
    demo = stack.enter_context(running([os.environ["PROGRAM"], "demo", "--web.listen-address=127.0.0.1:0"], log))
    scrape = {"job_name": "demo", "static_configs": [{"targets": [address(demo, log)]}]}
    config = {
        "global": {"scrape_interval": "5s", },
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.json").write_text(json.dumps(config))
    prometheus = stack.enter_context(Prometheus.start(folder, "prometheus.json"))
    time.sleep(60 * MINUTES)
    requests = [
        {
            "uid": f"translation-{name}",
            "prometheus": prometheus.url,
            "address": f"from=now-{MINUTES}m&to=now",
            "scrape": "5s",
            "theme": theme,
            "height": height,
            "picture": str(PICTURES / f"dashboard-{name}-{theme}.png"),
        }
        for name, theme, height in (("progress", "light", 1560), ("progress", "dark", 1560), ("repository", "light", 1060))
    ]
    command = ["node", Path(__file__).parent / "draw.mjs", os.environ["NODE_FOLDER"], FOLDER]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    subprocess.run(command, input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
