#!/usr/bin/env python3
"""Runs the pod of a rendered exporter as a kubelet would, without a cluster: pod.py MANIFEST IMAGE_ROOT IMAGE_CONFIG FAKE_API.

The container's arguments, variables, mounted files, users and probes come from the manifest, the entry point from the image. Only
a short poll interval is put in. The API's name leads to one on the loopback address, by https: it must receive the mounted key.
Where the pod mounts a web configuration, that asks for TLS, and for client certificates where probes only open a connection.
"""

import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile

import sandbox
import yaml
from harness import PATIENCE, wait_for

import api as https_api

KEY, NEXT_KEY = "first-of-two-keys", "second-of-two-keys"
# The variables that Kubernetes sets in every container, and those of a Service of this name, as if service links were on.
INJECTED = {
    "HOSTNAME": "translation-exporter-0",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "TRANSLATION_EXPORTER_SERVICE_HOST": "10.96.10.18",
    "TRANSLATION_EXPORTER_SERVICE_PORT_METRICS": "10018",
    "TRANSLATION_EXPORTER_PORT": "tcp://10.96.10.18:10018",
    "TRANSLATION_EXPORTER_PORT_10018_TCP_PROTO": "tcp",
}


class Secret:
    """A Secret's volume as the kubelet makes it: the files are links through ..data, which is replaced as a whole."""

    def __init__(self, folder, volume, group, files):
        self.folder, self.mode, self.group, self.generation = folder, volume["defaultMode"], group, 0
        folder.mkdir()
        for name in files:
            os.symlink(f"..data/{name}", folder / name)
        self.write(files)

    def write(self, files):
        self.generation += 1
        data = self.folder / f"..{self.generation}"
        data.mkdir()
        for name, text in files.items():
            (data / name).write_text(text)
            (data / name).chmod(self.mode)
            os.chown(data / name, 0, self.group)
        os.symlink(data.name, self.folder / "..data_tmp")
        os.rename(self.folder / "..data_tmp", self.folder / "..data")


WEB = "tls_server_config:\n  cert_file: {0}tls.crt\n  key_file: {0}tls.key\n"
WEB_FOR_CLIENTS = WEB + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"


class Pod:
    def __init__(self, manifest, image, image_config, folder, api):
        objects = list(yaml.safe_load_all(pathlib.Path(manifest).read_text()))
        self.objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        stateful_set = self.objects["StatefulSet", "translation-exporter"]["spec"]
        self.spec = stateful_set["template"]["spec"]
        (self.container,) = self.spec["containers"]
        # A cluster that chooses the user takes one that no image knows, and the group 0.
        self.user = {"runAsUser": 1000650000, "runAsGroup": 0, "fsGroup": 1000650000} | self.spec["securityContext"]
        described = json.loads(pathlib.Path(image_config).read_text())
        self.image, self.health = described["OCIv1"]["config"], described["Docker"]["config"]["Healthcheck"]["Test"][1:]
        self.folder, self.state, self.tls = pathlib.Path(folder), None, None
        # By the name of their volume.
        self.secrets = {}
        claims = [one["metadata"]["name"] for one in stateful_set.get("volumeClaimTemplates", [])]
        volumes = {one["name"]: one for one in self.spec.get("volumes", [])} | {claim: {} for claim in claims}
        self.root = sandbox.Root(image, folder)
        for where in self.container.get("volumeMounts", []):
            source = self.make(where["name"], volumes[where["name"]], api)
            self.root.volume(source, where["mountPath"], where.get("readOnly", False))
        self.root.trust(pathlib.Path(folder) / "ca.pem")
        self.root.seal()

    def make(self, name, volume, api):
        source, group = self.folder / f"volume-{name}", self.user["fsGroup"]
        if "configMap" in volume:
            source.mkdir()
            for file, text in self.objects["ConfigMap", volume["configMap"]["name"]]["data"].items():
                assert f"base_url: {api.url}\n" in text, f"{file} names no API, or another"
                (source / file).write_text(text + "\npoll:\n  interval: 2s\n")
        elif "secret" in volume:
            pair = {"tls.crt": (self.folder / "api.pem").read_text(), "tls.key": (self.folder / "api.key").read_text()}
            files = {"api-key": {"key": KEY}, "certificate": pair}.get(name)
            if name == "web-config":
                # The certificate is in a Secret of its own where the manifest mounts one.
                (elsewhere,) = [one["mountPath"] + "/" for one in self.container["volumeMounts"] if one["name"] == "certificate"] or [""]
                web = WEB_FOR_CLIENTS if "tcpSocket" in self.container["startupProbe"] else WEB
                files = {"web.yaml": web.format(elsewhere), "ca.crt": (self.folder / "ca.pem").read_text()} | ({} if elsewhere else pair)
                # Neither the kubelet nor these tests verify the certificate; all but the probes present one.
                self.tls = ssl._create_unverified_context()
                self.tls.load_cert_chain(self.folder / "api.pem", self.folder / "api.key")
            self.secrets[name] = Secret(source, volume["secret"], group, files)
        else:
            self.state = source
            source.mkdir()
            os.chown(source, 0, group)
            source.chmod(0o2775)
        return source

    def start(self, command=None):
        variables = {one["name"]: one["value"] for one in self.container.get("env", [])}
        return self.root.start(
            command or self.container.get("command", self.image["Entrypoint"]) + self.container["args"],
            env=INJECTED | dict(one.split("=", 1) for one in self.image.get("Env") or []) | variables,
            cwd=self.image["WorkingDir"],
            user=self.user["runAsUser"],
            group=self.user["runAsGroup"],
            groups=[self.user["fsGroup"]],
        )

    def get(self, path):
        """As Prometheus would: with a certificate where one is needed."""
        (port,) = self.container["ports"]
        return sandbox.get(f"{'https' if self.tls else 'http'}://127.0.0.1:{port['containerPort']}{path}", PATIENCE, self.tls)

    def probe(self, name):
        """Runs a probe once: None if it passed, else the reason."""
        ask, (port,) = self.container[name], self.container["ports"]
        address = ("127.0.0.1", port["containerPort"])
        if "tcpSocket" in ask:
            try:
                socket.create_connection(address, ask["timeoutSeconds"]).close()
            except OSError as failed:
                return str(failed)
            return None
        scheme = ask["httpGet"].get("scheme", "HTTP").lower()
        url = f"{scheme}://{address[0]}:{address[1]}{ask['httpGet']['path']}"
        status, body = sandbox.get(url, ask["timeoutSeconds"], ssl._create_unverified_context())
        return None if status is not None and 200 <= status < 400 else f"{status}: {body.strip()}"

    def check_health(self):
        """Runs the image's health check, with those options of this container's command that apply to it."""
        command = self.health + [word for word in self.container["args"] if word.startswith(("--config.file=", "--web."))]
        assert self.start(command).wait(PATIENCE) == 0, f"{command} failed"

    def renew(self):
        """Puts another certificate into its Secret, and returns it."""
        made = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=renewed", "-out", "new.crt", "-keyout", "new.key"]
        subprocess.run(made, cwd=self.folder, check=True, capture_output=True)
        certificate = (self.folder / "new.crt").read_text()
        self.secrets["certificate"].write({"tls.crt": certificate, "tls.key": (self.folder / "new.key").read_text()})
        return certificate

    def served(self):
        """The certificate that is served."""
        return ssl.get_server_certificate(("127.0.0.1", self.container["ports"][0]["containerPort"]))

    def ready(self):
        return self.get("/-/ready")[0] == 200

    def check_probes(self, readiness):
        """Runs each probe once: liveness must pass, and readiness must be as expected."""
        for name, expected in (("livenessProbe", True), ("readinessProbe", readiness)):
            failure = self.probe(name)
            # A probe that only opens a connection cannot know more.
            assert (failure is None) == (expected or "tcpSocket" in self.container[name]), f"{name}: {failure or 'passed'}"


def run(pod, api):
    with sandbox.killed_at_the_end(pod.start()) as process:
        startup = pod.container["startupProbe"]
        wait_for("startup probe", lambda: pod.probe("startupProbe") is None, startup["periodSeconds"] * startup["failureThreshold"])
        if "api-key" in pod.secrets:
            print("a refused key: alive, scraped, not ready, and says why")
            wait_for("the refusal", lambda: 'reason="unauthorized"' in pod.get("/metrics")[1])
            pod.check_probes(readiness=False)
            print("   ", pod.get("/-/ready")[1].strip())
            api.command("key", KEY)
        wait_for("readiness", pod.ready)
        pod.check_health()
        pod.check_probes(readiness=True)
        if "api-key" in pod.secrets:
            assert api.keys() == {KEY}
            api.command("key", NEXT_KEY)
            pod.secrets["api-key"].write({"key": NEXT_KEY})
            wait_for("the rotated key", lambda: api.keys() >= {NEXT_KEY})
            print("the key was rotated without a restart")
        if "certificate" in pod.secrets:
            renewed = pod.renew()
            wait_for("the renewed certificate", lambda: pod.served().split() == renewed.split())
            print("the certificate was renewed without a restart")
        pod.check_probes(readiness=True)
        _, metrics = pod.get("/metrics")
        assert "\ntranslation_completion_ratio{" in metrics, metrics
        took = sandbox.stop(process, pod.spec["terminationGracePeriodSeconds"])
    print(f"stopped in {took:.2f} s")
    if pod.state:
        written = {str(file.relative_to(pod.state)) for file in pod.state.rglob("*")}
        assert "state.json" in written, f"no state in its volume: {written}"
        with sandbox.killed_at_the_end(pod.start()) as process:
            api.command("key", None)
            wait_for("readiness from the state of before", pod.ready)
            sandbox.stop(process, pod.spec["terminationGracePeriodSeconds"])
        print("a restart is ready from its volume, without the API")


def main():
    manifest, image, image_config, fake_api = sys.argv[1:]
    sandbox.enter_own_namespaces()
    with tempfile.TemporaryDirectory(dir=os.environ.get("SANDBOX")) as folder, https_api.serve(fake_api, folder) as api:
        api.command("key", None)
        # Lets a user without privileges in.
        os.chmod(folder, 0o755)
        pod = Pod(manifest, image, image_config, folder, api)
        try:
            run(pod, api)
        finally:
            pod.root.unmount()


if __name__ == "__main__":
    main()
