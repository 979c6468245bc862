"""LaTeX rendering of an explanation: coloured boxes, as in the paper's table of edit operations."""

from nsed.explain.explanation import Evidence
from nsed.explain.render.text import nats
from nsed.text import Edit, EditScript
from nsed.text.visible import drawn

_BOX = r"\tikz[baseline]{\node[anchor=base,fill=%s!20,inner sep=1.2pt,draw=%s,line width=0.3] {%s};}"
MACROS = "\n".join(
    [
        r"\providecommand{\nsedins}[1]{" + _BOX % ("Green", "Green", r"\color{Green}+#1") + "}",
        r"\providecommand{\nseddel}[1]{" + _BOX % ("Blue", "Blue", r"\color{Blue}$-$#1") + "}",
        r"\providecommand{\nsedsubs}[2]{"
        + _BOX % ("Dandelion", "Dandelion", r"\textcolor{Blue}{#1}$\rightarrow$\textcolor{Green}{#2}")
        + "}",
        r"\providecommand{\nsedop}[2]{\shortstack{#1\\{\tiny #2\,\%}}}",
    ]
)
r"""LaTeX macros of the boxes: \nsedsubs{a}{b}, \nsedins{b}, \nseddel{a}; \nsedop puts a probability under one."""
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "-": "{-}",
    "␣": r"\textvisiblespace{}",
    **{char: "\\" + char for char in "&%$#_{}"},
    **{char: "{" + char + "}" for char in "<>\"'`[]"},
}


def to_latex(evidence: Evidence, *, standalone: bool = False) -> str:
    """LaTeX of the pair, what is known of its score, and the scripts, one per line of a table."""
    rows = [rf"\multicolumn{{2}}{{l}}{{{_headline(evidence)}}} \\"]
    rows += [rf"{100 * script.share:.1f}\,\% & {script_latex(script)} \\[2pt]" for script in evidence.scripts]
    table = "\n".join([r"\begin{tabular}{rl}", *rows, r"\end{tabular}"])
    return _document(table) if standalone else f"{MACROS}\n{table}\n"


def script_latex(script: EditScript) -> str:
    """LaTeX of a script: the operations as boxes with their probabilities below."""
    return " ".join(rf"\nsedop{{{_box(edit)}}}{{{100 * edit.probability:.1f}}}" for edit in script) or r"$\emptyset$"


def escaped(text: str) -> str:
    r"""LaTeX-escaped text, which means itself.

    >>> escaped("50%_\\")
    '50\\%\\_\\textbackslash{}'
    """
    return "".join(_ESCAPES.get(char, char) for char in text)


def _box(edit: Edit) -> str:
    source, target = escaped(drawn(edit.source)), escaped(drawn(edit.target))
    boxes = {"delete": rf"\nseddel{{{source}}}", "insert": rf"\nsedins{{{target}}}"}
    return boxes.get(edit.kind, rf"\nsedsubs{{{source}}}{{{target}}}")


def _headline(evidence: Evidence) -> str:
    source, target = (_string(symbols) for symbols in (evidence.source, evidence.target))
    facts = f"{evidence.total_name} ${nats(evidence.total)}$"
    if evidence.decision is not None:
        facts = rf"{evidence.decision.word}, probability {100 * evidence.decision.probability:.1f}\,\%, {facts}"
    return rf"{source} $\Rightarrow$ {target}: {facts}"


def _string(symbols: tuple[str, ...]) -> str:
    return " ".join(escaped(drawn(symbol)) for symbol in symbols) or r"$\emptyset$"


def _document(table: str) -> str:
    head = [
        r"\documentclass{article}",
        r"\usepackage[dvipsnames]{xcolor}",
        r"\usepackage{tikz}",
        r"\pagestyle{empty}",
        MACROS,
        r"\begin{document}",
        r"\noindent",
    ]
    return "\n".join([*head, table, r"\end{document}", ""])
