"""The edit script with the fewest edits, without any model: Levenshtein's."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from nsed.text.edit_script import Edit, EditScript


def plain_script(source: Sequence[str], target: Sequence[str]) -> EditScript:
    """How one string of symbols becomes another with as few edits as can be.

    >>> print(plain_script(["K", "AE", "T"], ["K", "AH", "T", "S"]))
    K AE→AH T +S
    """
    edits: list[Edit] = []
    for code in Levenshtein.opcodes(source, target):
        reads, writes = range(code.src_start, code.src_end), range(code.dest_start, code.dest_end)
        if code.tag == "delete":
            edits += [Edit("delete", source[i], "", i, code.dest_start) for i in reads]
        elif code.tag == "insert":
            edits += [Edit("insert", "", target[j], code.src_start, j) for j in writes]
        else:
            edits += [Edit("substitute", source[i], target[j], i, j) for i, j in zip(reads, writes, strict=True)]
    return EditScript(tuple(edits))
