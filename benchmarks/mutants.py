"""Mechanical mutants: a solution with one node of its syntax tree changed, again and again."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A mutated source, the line that was changed, and what became of it."""

    line: int
    before: str
    after: str
    text: str


_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.GtE, ast.LtE),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt,),
    ast.GtE: (ast.Gt,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_NAMES = {"query": "key", "key": "value", "value": "query", "ones": "zeros", "zeros": "ones"}


def mutants(text: str) -> Iterator[Mutant]:
    """Every mutant of the source, `ast.unparse`d; no two are alike, and none is the original.

    Types are left alone: nothing that runs depends on them.
    """
    tree = ast.parse(text)
    seen = {ast.unparse(tree)}
    types = set(_in_annotations(tree))
    for index, node in enumerate(ast.walk(tree)):
        if node in types:
            continue
        for change in _changes(node):
            mutated = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(mutated)) if i == index)
            replacement = change(target)
            if replacement is not None:
                _replace(mutated, target, replacement)
            new = ast.unparse(ast.fix_missing_locations(mutated))
            if new in seen:
                continue
            seen.add(new)
            before, after = _first_difference(ast.unparse(tree), new)
            yield Mutant(getattr(node, "lineno", 0), before, after, new)


def _in_annotations(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if annotation := getattr(node, name, None):
                yield from ast.walk(annotation)


def _changes(node: ast.AST) -> Iterator[Any]:
    """Functions that change a copy of the node and return None, or return its successor."""
    match node:
        case ast.BinOp(op=op):
            for kind in _OPERATORS.get(type(op), ()):
                yield lambda n, kind=kind: setattr(n, "op", kind())
            yield lambda n: n.left
            yield lambda n: ast.BinOp(n.right, n.op, n.left)
        case ast.Compare(ops=[op]):
            for comparison in _COMPARISONS.get(type(op), ()):
                yield lambda n, kind=comparison: setattr(n, "ops", [kind()])
        case ast.Constant(value=bool(value)):
            yield lambda n, value=value: setattr(n, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            for new in (value + 1, value - 1, -value, value * 1000):
                yield lambda n, new=new: setattr(n, "value", new)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield lambda n: n.operand
        case ast.Call(func=ast.Attribute(), args=args, keywords=words):
            yield lambda n: n.func.value  # the method is not called at all
            if len(args) > 1:
                yield lambda n: n.args.reverse()
            for i in range(len(words)):
                yield lambda n, i=i: n.keywords.pop(i) and None
        case ast.Call(args=args):
            if len(args) > 1:
                yield lambda n: n.args.reverse()
            if args:
                yield lambda n: n.args[0]  # the function is not called at all
        case ast.If():
            yield lambda n: setattr(n, "test", ast.Constant(True))
            yield lambda n: setattr(n, "test", ast.Constant(False))
        case ast.Assign() | ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield lambda n: ast.Pass()
        case ast.Return(value=value) if value is not None:
            yield lambda n: setattr(n, "value", None)
        case ast.Name(id=name, ctx=ast.Load()) if name in _NAMES:
            yield lambda n: setattr(n, "id", _NAMES[n.id])
        case ast.Attribute(attr=name) if name in _NAMES:
            yield lambda n: setattr(n, "attr", _NAMES[n.attr])
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) == 2:
            yield lambda n: n.elts.reverse()


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list) and any(v is old for v in value):
                value[[v is old for v in value].index(True)] = new
                return


def _first_difference(one: str, two: str) -> tuple[str, str]:
    for a, b in zip(one.splitlines(), two.splitlines(), strict=False):
        if a != b:
            return a.strip(), b.strip()
    return "", two.splitlines()[-1].strip()
