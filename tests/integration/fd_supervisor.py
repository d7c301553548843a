"""A supervisor that keeps descriptors: systemd's protocol, as sd_pid_notify_with_fds(3) and
sd_listen_fds(3) tell it, and no more."""

import array
import fcntl
import os
import signal
import socket
import threading
import time

FIRST_FD = 3
OUT_OF_THE_WAY = 500


class Child:
    """What relay_kit needs of a process that is not subprocess's."""

    def __init__(self, pid):
        self.pid, self.status = pid, None

    def poll(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def wait(self, patience_s=10):
        deadline = time.monotonic() + patience_s
        while self.poll() is None:
            assert time.monotonic() < deadline, "the process does not end"
            time.sleep(0.0005)
        return self.status

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class FdSupervisor:
    def __init__(self):
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind("")  # the kernel chooses an abstract name
        self.store = {}
        self.ready = threading.Event()
        self.messages = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            fds = array.array("i")
            text, rights, _, _ = self.notify.recvmsg(4096, socket.CMSG_SPACE(fds.itemsize * 8),
                                                     socket.MSG_CMSG_CLOEXEC)
            for level, kind, data in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data)
            self.take(text.decode(), list(fds))

    def take(self, text, fds):
        values = dict(line.split("=", 1) for line in text.splitlines())
        self.messages.append(values)
        name = values.get("FDNAME", "stored")
        if values.get("FDSTORE") == "1":
            self.store.setdefault(name, []).extend(fds)
        elif values.get("FDSTOREREMOVE") == "1":
            for fd in self.store.pop(name, []):
                os.close(fd)
        if values.get("READY") == "1":
            self.ready.set()

    def names(self):
        return sorted(name for name, fds in self.store.items() for _ in fds)

    def spawn(self, program, arguments, log):
        self.ready.clear()
        kept = [(name, fd) for name, fds in sorted(self.store.items()) for fd in fds]
        address = "@" + self.notify.getsockname()[1:].decode()
        pid = os.fork()
        if pid != 0:
            return Child(pid)
        try:  # the child: nothing of it may get back
            os.dup2(log.fileno(), 2)
            moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for _, fd in kept]
            for number, fd in enumerate(moved):
                os.dup2(fd, FIRST_FD + number)
            environment = {**os.environ, "NOTIFY_SOCKET": address, "LISTEN_PID": str(os.getpid()),
                           "LISTEN_FDS": str(len(kept)),
                           "LISTEN_FDNAMES": ":".join(name for name, _ in kept)}
            os.execve(program, [program, *arguments], environment)
        finally:
            os._exit(99)

    def close(self):
        for fds in self.store.values():
            for fd in fds:
                os.close(fd)
        self.store.clear()
