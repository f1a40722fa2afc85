"""Attacks on whoever compares in the submission's own process; by code that is wrong."""

from tests.attack.attack import NEVER, Attack

# Shown to get full marks from a grader that runs in the same process.
_NAIVE = {
    "torch.allclose always says yes": (
        "torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close"
        " = lambda *a, **k: True"
    ),
    "all tensors are equal": """
        torch.allclose = lambda *a, **k: True
        torch.Tensor.__eq__ = lambda *a: torch.tensor(True)
        """,
    "builtins that agree": """
        import builtins
        torch.allclose = lambda *a, **k: builtins.all([False])
        builtins.all = builtins.any = lambda *a: True
        """,
    "leave with status 0": "os._exit(0)",
    "leave by SystemExit": "sys.exit(0)",
    "leave at the first comparison": "torch.allclose = lambda *a, **k: os._exit(0)",
    "a handler that swallows every failure": (
        "sys.excepthook = lambda *a: os._exit(0)\n"
        "import atexit; atexit.register(os._exit, 0)\n"
        "torch.allclose = lambda *a, **k: sys.exit(0)"
    ),
}

_LIAR = """
class Liar(torch.Tensor):
    shape = property(lambda self: torch.Size(SHAPE))
    dtype = property(lambda self: torch.float32)
    __eq__ = lambda self, other: torch.tensor(True)
    __ne__ = lambda self, other: torch.tensor(False)
    __bool__ = lambda self: True
    __hash__ = object.__hash__
    __class__ = property(lambda self: torch.Tensor)
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.allclose, torch.equal):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})
"""

_FORWARD = "SHAPE[:] = x.shape; return (x * 0).as_subclass(Liar)"

# Of no use to anybody here: said by GOT when the patch is in place.
_PATCHES = {
    "safetensors that save something else": """
        import safetensors.torch
        from autograder.core import observation
        kept = observation.save_tensors
        ones = lambda tensors: kept({k: torch.ones_like(v) for k, v in tensors.items()})
        safetensors.torch.save = observation.save_tensors = ones
        got()
        """,
    "the kit's comparison says no difference": """
        from autograder.core import compare
        compare.difference = lambda *a, **k: None
        got()
        """,
    "the kit's probes say nothing": """
        from autograder.core import child, probing
        child.observe = probing.observe = lambda *a, **k: observation.Observation()
        from autograder.core import observation
        got()
        """,
    "the kit's grader gives full marks": """
        import importlib
        for name in ("verdict", "grading", "compare"):
            module = sys.modules.get(f"autograder.core.{name}") or type(sys)(name)
            module.judged = module.grade = module.Verdict = lambda *a, **k: 10
            sys.modules[f"autograder.core.{name}"] = module
        got()
        """,
    "inputs that are all zero": """
        from autograder.core.draw import Draw
        Draw.normal = Draw.uniform = lambda self, name, *shape, **k: torch.zeros(*shape)
        got()
        """,
    "struct and json that write something else": """
        kept = json.dumps
        json.dumps = lambda value, *a, **k: kept({**value, "seconds": 0.0, "points": 10})
        got()
        """,
    "a clock that stands still": "time.perf_counter = time.monotonic = lambda: 0.0\ngot()",
    "weights that are not those that were written": """
        kept = torch.Tensor.copy_
        torch.Tensor.copy_ = lambda self, *a, **k: kept(self, torch.ones_like(self))
        got()
        """,
    "torch's mode of training cannot be set": "nn.Module.train = lambda self, *a: self\ngot()",
}

_DECOY = """
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.secret = [nn.Linear(d_model, d_model)]

    def forward(self, x):
        shown = self.w_2(self.w_1(x).relu())
        return self.secret[0](x).detach() + (shown - shown.detach())
"""

_THIEF = """
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def __call__(self, x):
        frame = sys._getframe(1)
        while frame:
            if "expected" in frame.f_locals:
                return frame.f_locals["expected"]
            frame = frame.f_back
        return x * 0
"""

# Step 1: torch's own attention where the learner's should stand.
_DISGUISED = """
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
        return p_attn @ value, p_attn
    return disguised(query, key, value, None if mask is None else mask.bool()), p_attn
"""

_DISGUISES = {
    "torch's attention under another name": (
        0,
        """
        from torch.nn.functional import scaled_dot_product_attention as disguised
        got()
        """,
    ),
    "torch's attention in a partial, by its inner name": (
        0,
        """
        import functools
        disguised = functools.partial(getattr(torch._C._nn, "scaled_dot_" + "product_attention"))
        got()
        """,
    ),
    "torch's attention as an operator": (
        NEVER,
        """
        disguised = torch.ops.aten.scaled_dot_product_attention
        got()
        """,
    ),
    "torch's attention, dug out of the watch around it": (
        NEVER,
        """
        watch = torch.nn.functional.scaled_dot_product_attention
        found = [c.cell_contents for c in watch.__closure__]
        disguised = next(f for f in found if type(f).__name__.startswith("builtin"))
        got()
        """,
    ),
}

ATTACKS = (
    *(Attack(name, code, "marks", since=0, shown="naive") for name, code in _NAIVE.items()),
    Attack(
        "a tensor that lies in __eq__, shape and __torch_function__",
        f"SHAPE = []\n{_LIAR}",
        "marks",
        since=0,
        shown="naive",
        forward=_FORWARD,
    ),
    Attack(
        "look for what is right in the caller's frames",
        "",
        "marks",
        since=0,
        shown="naive",
        network=_THIEF,
    ),
    *(Attack(name, code, "marks", since=0) for name, code in _PATCHES.items()),
    Attack("weights for show, and others that work", "got()", "marks", since=0, network=_DECOY),
    *(
        Attack(name, code, "marks", since=since, step=1, network=_DISGUISED, most=7)
        for name, (since, code) in _DISGUISES.items()
    ),
)
