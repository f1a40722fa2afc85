"""Attacks on the answer: frames early, late, twice, broken, forged; by code that is wrong.

Each says GOT when it has the pipe, or its patch is in place: that much can be done at every
tier. There is nothing to be had by it where values are compared elsewhere.
"""

from tests.attack.attack import NEVER, Attack

# The descriptor that answers go to, and what makes one: both within reach of any code in there.
_PIPE = """
from autograder.core.observation import Observation, encode
def is_open(fd):
    try:
        return bool(os.fstat(fd))
    except OSError:
        return False
RESULT = next(fd for fd in range(3, 256) if is_open(fd))
def send(data):
    while data:
        data = data[os.write(RESULT, data):]
loaded, full = encode(Observation()), encode(Observation({"points": 10, "passed": True}))
"""


def _sent(name: str, code: str, **more: object) -> Attack:
    return Attack(name, f"{_PIPE}got()\n{code}", "marks", **{"since": 0, **more})  # type: ignore[arg-type]


# What the child sends is put together by `encode`: code in there can change any of it.
_FORGED = """
from autograder.core import child
kept = child.encode
def forged(seen):
    seen.values = {name: change(name, value) for name, value in seen.values.items()}
    return kept(seen)
child.encode = forged
tensor = lambda value: isinstance(value, torch.Tensor)
got()
"""


def _changed(name: str, change: str, since: int = 0) -> Attack:
    return Attack(name, f"change = lambda name, value: {change}\n{_FORGED}", "marks", since)


_SENT = (
    _sent("answer early, and leave", "send(loaded + full * 7); os._exit(0)"),
    _sent("answer early, and go on", "send(loaded + full * 7)"),
    _sent(
        "answer late",
        "",
        forward="""
        if not hasattr(nn, "late"):
            nn.late = threading.Thread(target=lambda: [time.sleep(0.2), send(full * 9)])
            nn.late.start()
            time.sleep(0.4)
        """,
    ),
    _sent("answer twice", "", forward="send(full)"),
    _sent("answer with what is no frame", "send(bytes([255]) * 4096)"),
    _sent("answer with text", "send(b'{\"points\": 10}\\n' * 99)"),
    _sent("answer half", "send(loaded + full[:-9]); os._exit(0)"),
    _sent("claim a huge answer", "send(loaded + struct.pack('>II', 2**31, 2**31))"),
    _sent("flood the answers' pipe", "send(loaded)\nwhile True: send(full * 1000)"),
    _sent("send 64 MiB", "send(loaded + struct.pack('>II', 9, 2**26))\nsend(bytes(2**26))"),
    _sent(
        "answer with nested text",
        "send(loaded + encode(Observation({'y': eval('[' * 60 + ']' * 60)})))",
    ),
    _sent(
        "answer with a text that asks to be executed",
        """
import pickle
class Evil:
    def __reduce__(self):
        return (os.system, (f"touch {TMP}/executed",))
body = pickle.dumps(Evil())
send(loaded + struct.pack(">II", len(body), 0) + body)
""",
    ),
    _sent(
        "lie about sizes in the tensors' header",
        """
head = json.dumps({"y": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
body = struct.pack("<Q", len(head)) + head
text = json.dumps({"plain": {}, "order": ["y"], "terms": {}, "seconds": 0.0}).encode()
send(loaded + struct.pack(">II", len(text), len(body)) + text + body)
""",
    ),
    _sent("close the pipe", "os.close(RESULT)"),
    _sent("put a file in the pipe's place", "os.dup2(os.open('/dev/null', 1), RESULT)"),
    _sent(
        "replay the answers of an earlier run",
        "send(loaded + REPLAY); os._exit(0)",
        since=NEVER,
    ),
)

_CHANGED = (
    _changed("answer with NaN", "value * float('nan') if tensor(value) else value"),
    _changed("answer with infinities", "value + float('inf') if tensor(value) else value"),
    _changed(
        "answer with one number, to be broadcast", "value.sum().view(1) if tensor(value) else value"
    ),
    _changed("answer with a dimension more", "value[None] if tensor(value) else value"),
    _changed("answer with nothing in it", "value[:0] if tensor(value) else value"),
    _changed("answer in float64", "value.double() if tensor(value) else value"),
    _changed("answer yes to everything", "value if tensor(value) else True"),
    _changed("answer with huge numbers", "value if tensor(value) else 10**300"),
    Attack(
        "answer under other names",
        _FORGED.replace("{name: change(name, value)", "{name + 's': value"),
        "marks",
        since=0,
    ),
    Attack(
        "grant oneself terms",
        _FORGED.replace(
            "seen.values = {name: change(name, value) for name, value in seen.values.items()}",
            "seen.terms = {'no_bias': ['y'], 'advice': ['output'], 'carried': ['output']}",
        ),
        "marks",
        since=0,
    ),
    _changed(
        "say what every right network says: no differences, all flags as they should be",
        """(
    torch.zeros(8) if name == "slopes" else torch.tensor([0.0, 2.0]) if name == "factors"
    else torch.block_diag(*[torch.eye(6)] * 2) if name == "company"
    else torch.zeros_like(value) if tensor(value) and name in ("mixed", "all_output")
    else {"connected": True, "untouched": True, "ways": 2, "fresh": True}.get(name, value))""",
        NEVER,
    ),
)

ATTACKS = (*_SENT, *_CHANGED)
