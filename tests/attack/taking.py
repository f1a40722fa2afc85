"""Attacks that take memory, disk, or time without end; and that die, with nobody's verdict told."""

from tests.attack.attack import Attack

_MUCH = (
    Attack(
        "take 64 GiB",
        "got(mmap.mmap(-1, 2**36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))",
        since=0,
    ),
    Attack(
        "take 64 GiB as shared memory",
        "got(mmap.mmap(-1, 2**36, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000))",
        since=0,
    ),
    Attack(
        "map a huge file of holes",
        """
        with open("holes", "w+b") as f:
            f.truncate(2**36)
            got(len(mmap.mmap(f.fileno(), 2**36)))
        """,
        since=0,
    ),
    Attack(
        "fill the disk with one file (80 MiB)",
        """
        with open("big", "wb", buffering=0) as f:
            for _ in range(80):
                assert f.write(bytes(2**20)) == 2**20
        got()
        """,
        since=0,
    ),
    Attack(
        "fill the disk with many files (5 of 30 MiB)",
        """
        for number in range(5):
            with open(f"big{number}", "wb", buffering=0) as f:
                for _ in range(30):
                    assert f.write(bytes(2**20)) == 2**20
        got()
        """,
        since=2,
    ),
    Attack(
        "make many files (5000)",
        """
        for number in range(5000):
            open(str(number), "w").close()
        got()
        """,
        since=2,
    ),
    Attack(
        "start threads without end (300)",
        """
        for number in range(300):
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        got()
        """,
        since=0,
    ),
)

_HANGING = {
    "loop without end in Python": "while True: pass",
    "loop without end in one C call": "sum(iter(int, 1))",
    "loop through every exception": """
        while True:
            try:
                time.sleep(9)
            except BaseException:
                pass
        """,
    "recurse without end": "sys.setrecursionlimit(10**9); f = lambda: f(); f()",
    "sleep": "time.sleep(60)",
    "ignore every signal": """
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        time.sleep(60)
        """,
    "block every signal": "signal.pthread_sigmask(0, range(1, 65)); time.sleep(60)",
    "stop oneself": "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)",
    "hold the interpreter's lock": "ctypes.PyDLL(None).sleep(60)",
    "print without end": "while True: os.write(1, bytes(10**6))",
    "a pattern without hope": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "wait for oneself": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
}

_DYING = {
    "segfault": "ctypes.string_at(0)",
    "abort": "os.abort()",
    "kill oneself": "os.kill(os.getpid(), signal.SIGKILL)",
    "kill oneself by a real-time signal": "os.kill(os.getpid(), 40)",
    "overflow the C stack": "sys.setrecursionlimit(10**8); f = lambda *a: list(map(f, a)); f(1)",
    "leave with a status": "os._exit(3)",
    "close every descriptor": "os.closerange(0, 256)",
    "leave nothing in its place": "os._exit = os.write = sys.exit = json.dumps = None",
}

ATTACKS = (
    *_MUCH,
    *(Attack(name, code, "hang", since=0) for name, code in _HANGING.items()),
    *(Attack(name, code, "dies", since=0, shown="naive") for name, code in _DYING.items()),
)
