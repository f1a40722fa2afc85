"""Attacks that look: at other people's files, processes and memory, and at what is right."""

from tests.attack.attack import Attack

ATTACKS = (
    Attack("read another submission", "got(open(f'{CLASS}/bob.py').read())"),
    Attack("list the submissions", "got(os.listdir(CLASS))"),
    Attack("read the gradebook", "got(open(BOOK).read())"),
    Attack("read the reference", "got(open(f'{REFERENCE}/feed_forward.py').read()[:50])"),
    Attack("read the model answer", "got(open(SOLUTION).read()[:50])"),
    Attack("read the expectations", "got(open(f'{KIT}/steps/feed_forward.toml').read()[:50])"),
    Attack("read the machine's users", "got(open('/etc/passwd').read()[:50])"),
    Attack("list the machine's folders", "got(os.listdir('/'))"),
    Attack("learn that a file exists", "os.stat(f'{CLASS}/bob.py'); got()", since=2),
    Attack("learn that a process exists", "os.stat(f'/proc/{VICTIM}'); got()", since=2),
    Attack(
        "read the coordinator's environment",
        "got(SECRET_NAME in open(f'/proc/{COORDINATOR}/environ').read())",
    ),
    Attack(
        "list the worker's descriptors",
        "each(lambda p: got(os.listdir(f'/proc/{p}/fd')), others())",
    ),
    Attack(
        "find the coordinator's secret in its own environment",
        "if os.environ.get(SECRET_NAME): got(os.environ[SECRET_NAME])",
        shown="naive",
        since=0,
    ),
    Attack(
        "find the model answer in inherited memory",
        """
        gc.unfreeze()
        for found in gc.get_objects():
            texts = found.values() if type(found) is dict else found if type(found) is tuple else ()
            for text in list(texts):
                if type(text) is str and "class Position" + "wiseFeedForward" in text:
                    if "BEGIN" + " SOLUTION" in text:
                        got(text[:60])
                        raise SystemExit
        """,
        shown="naive",
        since=0,
    ),
    Attack(
        "import the reference after removing whoever refuses it",
        """
        sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_Refuse"]
        sys.modules.pop("transformer_ref")
        got(importlib.import_module("transformer_ref.feed_forward").PositionwiseFeedForward)
        """,
    ),
    Attack(
        "import the reference from its file",
        """
        from importlib.util import module_from_spec, spec_from_file_location
        spec = spec_from_file_location("mine", f"{REFERENCE}/feed_forward.py")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        got(module.PositionwiseFeedForward)
        """,
    ),
    Attack(
        "import the reference by a path of its own",
        """
        sys.path.insert(0, f"{REFERENCE}/..")
        import runpy
        got(runpy.run_path(f"{REFERENCE}/feed_forward.py")["PositionwiseFeedForward"])
        """,
    ),
    Attack(
        "have the grader itself say what is right",
        """
        from autograder.core.step import find_step
        got(find_step(4).solution.read_text()[:50])
        """,
    ),
    Attack("trace another process", "each(lambda p: got(call(101, 0x4206, p, 0, 0)), others())"),
    Attack(
        "write into another process's memory file",
        """
        def write(pid):
            with open(f"/proc/{pid}/mem", "r+b", buffering=0) as f:
                f.seek(id(None))
                if pid == os.getppid():
                    kept = f.read(8)
                    f.seek(id(None))
                    f.write(kept)
                got()
        each(write, others())
        """,
    ),
    Attack(
        "write into the worker's memory by a call",
        """
        kept = ctypes.create_string_buffer(8)
        local = struct.pack("@PN", ctypes.addressof(kept), 8)
        remote = struct.pack("@PN", id(None), 8)
        for number in (310, 311):
            call(number, os.getppid(), local, 1, remote, 1, 0)
        got()
        """,
    ),
    Attack(
        "take the worker's control socket",
        """
        handle = call(434, os.getppid(), 0)
        each(lambda fd: got(call(438, handle, fd, 0)), range(3, 16))
        """,
    ),
)
