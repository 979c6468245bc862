"""The command `nsed-lite`: transduce, score, match or align with the model of a folder."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from nsed_lite import AnyModel, Mixture, ModelFolderError, Transducer, __version__, load, reuse_freed_memory

EXAMPLES = """examples:
  nsed-lite transduce models/g2p-en flagships neural --nbest 3
  cut -f 1 words.tsv | nsed-lite transduce models/g2p-en --beam 1
  nsed-lite score models/g2p-en 'flagships=F L AE G SH IH P S'
  nsed-lite match models/names moscow=москва
  nsed-lite align models/g2p-en 'flagships=F L AE G SH IH P S'

FOLDER is a folder that nsed train or model.save wrote; nsed-lite has no models of its own. Without strings, lines of
standard input are read: sources, or pairs with a tab between. Answers are tab-separated lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status comes back."""
    given = _parser().parse_args(arguments)
    reuse_freed_memory()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # it wants the message alone
        return _run(given)


def _show_warning(message: Warning | str, *_: object) -> None:
    """Show a warning, without the line of code that said it."""
    sys.stderr.write(f"nsed-lite: warning: {message}\n")


def _run(given: argparse.Namespace) -> int:
    strings = given.strings or [line.rstrip("\n") for line in sys.stdin]
    try:
        lines = _transduced(given, strings) if given.verb == "transduce" else _answered(given, strings)
        sys.stdout.writelines("\t".join(map(str, line)) + "\n" for line in lines)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the answers, `head` say, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where Python flushes to when it exits
    except (ModelFolderError, TypeError, ValueError) as error:
        sys.stderr.write(f"nsed-lite: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("nsed-lite", description=__doc__, epilog=EXAMPLES, formatter_class=layout)
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("verb", choices=("transduce", "score", "match", "align"), help="what to ask of the model")
    parser.add_argument("folder", metavar="FOLDER", help="model folder")
    parser.add_argument("strings", nargs="*", metavar="STRING", help="sources to transduce, or pairs SOURCE=TARGET")
    parser.add_argument("--nbest", type=int, default=1, help="targets of each source (default: 1)")
    parser.add_argument("--beam", type=int, help="beam width (default: that of the model); 1 is greedy and fastest")
    parser.add_argument("--language", help="language of all sources, for a transducer of several")
    return parser


def _model(given: argparse.Namespace) -> AnyModel:
    """Model of the folder, for the language that is given. Raises `ValueError` where it has none to choose from."""
    model = load(given.folder)
    if given.language is None:
        return model
    if not isinstance(model, Transducer | Mixture):
        expected = "none: only a transducer or a mixture is for one language; from Python, score(pairs, languages=...)"
        raise ValueError(f"--language: got {given.language!r}, expected {expected}")
    return model.for_language(given.language)


def _transduced(given: argparse.Namespace, sources: list[str]) -> list[tuple[object, ...]]:
    """Lines of source, target and log-probability."""
    model = _model(given)
    if not isinstance(model, Transducer | Mixture):
        raise ValueError(f"{given.folder}: this model writes no targets; expected a transducer or a mixture")
    found = model.transduce(sources, nbest=given.nbest, beam=given.beam)
    return [
        (source, one.text, f"{one.log_prob:.6g}") for source, few in zip(sources, found, strict=True) for one in few
    ]


def _answered(given: argparse.Namespace, strings: list[str]) -> list[tuple[object, ...]]:
    """Lines of source, target and the answer to the pair."""
    model, pairs = _model(given), [_pair(text) for text in strings]
    if given.verb == "align":
        return [(*pair, script) for pair, script in zip(pairs, model.align_all(pairs), strict=True)]
    if given.verb == "score":
        return [(*pair, f"{score:.6g}") for pair, score in zip(pairs, model.score(pairs).tolist(), strict=True)]
    decisions, probabilities = model.match(pairs), model.probability(pairs)
    columns = zip(pairs, decisions.tolist(), probabilities.tolist(), strict=True)
    return [(*pair, int(match), f"{probability:.4f}") for pair, match, probability in columns]


def _pair(text: str) -> tuple[str, str]:
    """Source and target of an argument or a line. Raises `ValueError` where these are not two."""
    for mark in ("\t", "="):
        source, found, target = text.partition(mark)
        if found:
            return source, target
    raise ValueError(f"got {text!r}, expected a pair: SOURCE=TARGET, or a tab between in standard input")


if __name__ == "__main__":
    sys.exit(main())
