"""Trees of likelihoods, each with a difficulty for a search: what a `Table` wants to say."""

from __future__ import annotations

from autograder.toys.table import Tree

# The likeliest first step leads astray.
ASTRAY: Tree = {
    "": {"a": 0.5, "b": 0.3, "c": 0.2},
    "a": {"d": 0.35, "e": 0.33, "f": 0.32},
    "b": {"g": 0.9, "d": 0.1},
    "c": {"h": 0.95, "e": 0.05},
    "b g": {".": 0.93, "h": 0.07},
    "c h": {".": 0.97},
    "a d": {".": 0.99},
    "a e": {".": 0.995},
}
# It shows late which beginning is the best one.
LATE: Tree = {
    "": {"a": 0.6, "b": 0.4},
    "a": {"c": 0.55, "d": 0.45},
    "b": {"e": 0.96, "f": 0.04},
    "a c": {"g": 0.5, "h": 0.5},
    "a d": {"g": 0.9, "h": 0.1},
    "b e": {"f": 0.97},
    "b e f": {"a": 0.9, ".": 0.1},
    "b e f a": {".": 0.9},
}
# Each step is clear, and none is certain.
CLEAR: Tree = {
    "": {"a": 0.8, "b": 0.05},
    "a": {"c": 0.7, "d": 0.06},
    "a c": {"e": 0.9, "b": 0.04},
    "a c e": {"b": 0.75, "a": 0.04},
    "a c e b": {".": 0.85, "c": 0.05},
}
# A short sentence is the best, and has to wait until the longer ones are done.
SHORT: Tree = {
    "": {"a": 0.6, "b": 0.4},
    "a": {".": 0.9, "c": 0.1},
    "b": {"c": 0.9, "d": 0.1},
    "b c": {"d": 0.95},
    "b c d": {"e": 0.95},
    "b c d e": {".": 0.95},
    "a c": {"e": 0.9},
    "a c e": {".": 0.9},
}
# A sentence ends while a better one is not done.
WORSE_FIRST: Tree = {
    "": {"a": 0.7, ".": 0.3},
    "a": {"b": 0.95},
    "a b": {"c": 0.96},
    "a b c": {".": 0.97},
}
# What has ended is ahead, until sentences of different length are weighed.
OVERTAKEN: Tree = {
    "": {"a": 0.52, "b": 0.48},
    "a": {".": 0.93, "c": 0.07},
    "b": {"c": 0.93},
    **{f"b {' '.join('cdefghij'[:n])}": {"cdefghij"[n]: 0.995} for n in range(1, 8)},
    "b c d e f g h i j": {".": 0.995},
}
# What has ended is likelier than a long one that deserves its place.
CROWDED: Tree = {
    "": {"a": 0.5, "b": 0.48},
    "a": {".": 0.56, "c": 0.44},
    **{f"b {' '.join('cdefg'[:n])}".strip(): {"cdefg"[n]: 0.995} for n in range(5)},
    "b c d e f g": {"h": 0.54, "i": 0.46},
    "b c d e f g h": {".": 0.6, "j": 0.4},
    "b c d e f g i": {".": 0.995},
}
# Four sentences of one length; three of their beginnings have but one word to go on with.
FOUR: Tree = {
    "": {"a": 0.5, "b": 0.28, "c": 0.22},
    "a": {"d": 0.6, "e": 0.4},
    "b": {"f": 1.0},
    "c": {"g": 1.0},
    **{pair: {".": 1.0} for pair in ("a d", "a e", "b f", "c g")},
}
# Nothing is said at all.
AT_ONCE: Tree = {"": {".": 0.7, "a": 0.3}, "a": {".": 0.9, "b": 0.1}}

# Words and specials by turns.
SPECIALS_SAID: Tree = {
    "": {"a": 1.0},
    "a": {"<unk>": 1.0},
    "a <unk>": {"<blank>": 1.0},
    "a <unk> <blank>": {"a": 1.0},
}
# Words and marks, which are words as well.
MARKS_SAID: Tree = {
    "": {"a": 1.0},
    "a": {",": 1.0},
    "a ,": {"<": 1.0},
    "a , <": {"b": 1.0},
}
