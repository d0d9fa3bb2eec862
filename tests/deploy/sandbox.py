"""A container runtime, as far as a machine without one can play it: own mounts and network, another root, a user
without privileges, no way to gain any."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

PR_SET_NO_NEW_PRIVS = 38
SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x41


def enter_own_namespaces():
    """Starts this script anew in own mount and network namespaces, once; then sets the loopback interface up."""
    if os.environ.get("OWN_NAMESPACES") != "yes":
        os.environ["OWN_NAMESPACES"] = "yes"
        own = ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, *sys.argv]
        os.execvp(own[0], own)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP_RUNNING))


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


class Root:
    """A read-only copy of an image's root, with volumes mounted into it."""

    def __init__(self, image, folder):
        self.path = pathlib.Path(folder) / "root"
        shutil.copytree(image, self.path, symlinks=True, copy_function=os.link)
        for owned in pathlib.Path(image).rglob("*"):
            status = owned.lstat()
            os.chown(self.path / owned.relative_to(image), status.st_uid, status.st_gid, follow_symlinks=False)
        self.volumes = []

    def trust(self, certificate):
        """Adds a root to those that the image ships."""
        roots = self.path / "etc/ssl/certs/ca-certificates.crt"
        shipped = roots.read_text()
        assert shipped.count("BEGIN CERTIFICATE") > 50, "the image ships no roots"
        roots.unlink()  # linked to the image's own
        roots.write_text(shipped + pathlib.Path(certificate).read_text())

    def volume(self, source, target, read_only):
        inside = self.path / str(target).lstrip("/")
        inside.mkdir(parents=True, exist_ok=True)
        self.volumes.append((source, inside, read_only))

    def seal(self):
        """Mounts it all; from here on the root cannot be written to. /proc and the files in /etc come from the runtime."""
        for name in ("proc", "etc"):
            (self.path / name).mkdir(exist_ok=True)
        (self.path / "etc/hosts").write_text("127.0.0.1 localhost\n")
        (self.path / "etc/resolv.conf").write_text(
            "search default.svc.cluster.local svc.cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n"
        )
        mount("--bind", self.path, self.path)
        mount("-o", "remount,bind,ro", self.path)
        mount("-t", "proc", "proc", self.path / "proc")
        for source, inside, read_only in self.volumes:
            mount("--bind", source, inside)
            if read_only:
                mount("-o", "remount,bind,ro", inside)

    def unmount(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.path], check=True)

    def start(self, argv, env, cwd, user, group, groups, **how):
        def become():
            os.chroot(self.path)
            os.chdir(cwd)
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

        return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, preexec_fn=become, **how)


def get(url, timeout, tls=None):
    """The status and the body, whatever the status; None and the reason where there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=timeout, context=tls if url.startswith("https:") else None) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as failed:
        return None, str(failed)


@contextlib.contextmanager
def killed_at_the_end(process):
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def stop(process, seconds):
    """Ends it with SIGTERM, and returns how long that took."""
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(seconds)
    assert code == 0, f"ended with {code} after SIGTERM"
    return time.monotonic() - begin
