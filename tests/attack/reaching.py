"""Attacks that reach out: other files, the network, other processes, doors of the kernel."""

from tests.attack.attack import Attack

_WRITING = (
    Attack("write one's own marks", "open(BOOK, 'w').write('me,10'); got()"),
    Attack("empty the gradebook", "os.truncate(BOOK, 0); got()"),
    Attack("empty it by opening it to read", "os.open(BOOK, os.O_RDONLY | os.O_TRUNC); got()"),
    Attack("delete another submission", "os.unlink(f'{CLASS}/bob.py'); got()"),
    Attack(
        "put one's own in its place",
        "Path('mine').write_text('x'); os.replace('mine', f'{CLASS}/bob.py'); got()",
    ),
    Attack("link the gradebook into scratch", "os.link(BOOK, 'linked'); got()"),
    Attack("lead whoever tidies up astray", "os.symlink(CLASS, 'astray'); got()"),
    Attack("open the gradebook to everybody", "os.chmod(BOOK, 0o777); got()"),
    Attack("forge a file's date", "os.utime(BOOK, (1, 1)); got()"),
    Attack("write beside the scratch folder", "open(f'{TMP}/note', 'w').write('x'); got()"),
    Attack("write to shared memory's folder", "open('/dev/shm/note', 'w').write('x'); got()"),
    Attack("change a library", "os.open(torch.__file__, os.O_RDWR); got()", root=True),
    Attack("make a pipe with a name", "os.mkfifo('pipe'); got()"),
    Attack(
        "make a device",
        "os.mknod('disk', 0o60600, os.makedev(7, 0)); got()",
        root=True,
    ),
    Attack(
        "make a program that runs as its owner",
        "open('own', 'w').close(); os.chmod('own', 0o4755); got()",
    ),
    Attack(
        "leave a note for the next submission",
        """
        for folder in (".", TMP, "/dev/shm", "/var/tmp"):
            note = Path(folder, "for the next")
            if note.exists():
                got(note.read_text())
            else:
                try:
                    note.write_text("the answers")
                except OSError:
                    pass
        """,
        times=2,
    ),
)

_SOCKETS = (
    Attack("connect by TCP", "socket.create_connection(('127.0.0.1', TCP)).send(b'x'); got()"),
    Attack(
        "listen for TCP",
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); got(s.getsockname())",
    ),
    Attack(
        "send by UDP",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)); got()",
    ),
    Attack("connect to a unix socket", "socket.socket(socket.AF_UNIX).connect(UNIX); got()"),
    Attack(
        "connect to an abstract socket",
        "socket.socket(socket.AF_UNIX).connect(ABSTRACT); got()",
    ),
    Attack(
        "listen at an abstract socket",
        "s = socket.socket(socket.AF_UNIX); s.bind(''); s.listen(); got()",
    ),
    Attack(
        "ask the kernel by netlink",
        "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0)); got()",
    ),
)

_PROCESSES = (
    Attack(
        "start a process",
        """
        if not os.fork():
            time.sleep(20)
            os._exit(0)
        got()
        """,
    ),
    Attack(
        "start processes without end (50)",
        """
        for number in range(50):
            if not os.fork():
                time.sleep(20)
                os._exit(0)
        got(number)
        """,
    ),
    Attack("start a program", "got(subprocess.run(['/bin/true'], check=True))"),
    Attack(
        "start a program by another call",
        "got(os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0))",
    ),
    Attack(
        "start a shell",
        """
        if os.system("true") == 0:
            got()
        """,
    ),
    Attack("become another program", "os.execv('/bin/sh', ['sh', '-c', 'echo GOT'])"),
    Attack(
        "run a program that is in memory only",
        """
        handle = os.memfd_create("program")
        os.write(handle, open("/bin/true", "rb").read())
        got(subprocess.run([f"/proc/{os.getpid()}/fd/{handle}"], pass_fds=[handle]))
        """,
    ),
    Attack(
        "leave a daemon behind",
        """
        if not os.fork():
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(60)
            os._exit(0)
        got()
        """,
    ),
    Attack(
        "clone by the call's number, beside oneself",
        """
        if not call(56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0):
            os._exit(0)
        got()
        """,
    ),
)

_SIGNALS = (
    Attack("signal to the worker", "os.kill(os.getppid() or 1 / 0, 0); got()"),
    Attack("signal to another process", "os.kill(VICTIM, 0); got()"),
    Attack("signal to the coordinator", "os.kill(COORDINATOR, 0); got()"),
    Attack("signal to the first process", "os.getpid() == 1 or [os.kill(1, 0), got()]", root=True),
    Attack("signal to everybody", "os.kill(-1, 0); got()"),
    Attack("signal to another group", "os.killpg(VICTIM, 0); got()"),
    Attack("signal by a handle", "got(call(424, call(434, VICTIM, 0), 0, 0, 0))"),
    Attack(
        "signal with a message",
        "got(call(129, VICTIM, 0, struct.pack('iii', 0, 0, -1) + bytes(116)))",
    ),
    Attack(
        "have the kernel send signals",
        "got(fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, VICTIM))",
    ),
    Attack("slow another process down", "os.setpriority(os.PRIO_PROCESS, VICTIM, 19); got()"),
    Attack(
        "lower another process's limits",
        "got(resource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0)))",
    ),
)

_KERNEL = (
    Attack(
        "mount over the submissions",
        """
        if LIBC.mount(b"none", CLASS.encode(), b"tmpfs", 0, None):
            raise OSError(ctypes.get_errno(), "mount")
        got()
        """,
        root=True,
    ),
    Attack("make namespaces", "got(call(272, 0x10000000 | 0x20000))"),
    Attack("leave the root folder", "os.chroot('.'); got()", root=True),
    Attack("become another user", "os.setuid(1000); got(os.getuid())", root=True),
    Attack(
        "share memory by a number",
        """
        number = call(29, 0, 4096, 0o1600)
        call(31, number, 0, 0)
        got(number)
        """,
    ),
    Attack("keep a note with the kernel's keys", "got(call(248, b'user', b'note', b'x', 1, -2))"),
    Attack("open io_uring", "got(call(425, 4, bytes(120)))"),
    Attack("watch other people's files", "got(call(254, call(294, 0), CLASS.encode(), 0xFFF))"),
    Attack("read the kernel's log", "got(call(103, 10, 0, 0))", root=True),
)

ATTACKS = (*_WRITING, *_SOCKETS, *_PROCESSES, *_SIGNALS, *_KERNEL)
