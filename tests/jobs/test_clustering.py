"""Clusters against brute force, scikit-learn and what must hold for any method."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from nsed.errors import ArgumentError, ShapeError, UnknownNameError
from nsed.evaluate import adjusted_rand
from nsed.evaluate.clustering import numbered
from nsed.jobs import CLUSTERERS, cluster, similarity_matrix
from nsed.jobs import clustering as infomap
from nsed.jobs.clustering import average_links, cluster_links, keep_ids, linked_records

METHODS = list(CLUSTERERS)
seeds, counts, thresholds = st.integers(0, 10**6), st.integers(2, 25), st.floats(0.05, 0.95)


def random_similarities(seed, count, *, unknown=0.0):
    random = np.random.default_rng(seed)
    scores = random.random((count, count))
    scores[random.random((count, count)) < unknown] = np.nan
    upper = np.triu(scores, 1)
    return upper + upper.T


def planted(sizes, seed=0):
    """Similarities about 0.9 within groups of these sizes, about 0.1 between them."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    noise = random_similarities(seed, len(groups)) * 0.1
    return np.where(groups[:, None] == groups, 0.85, 0.05) + noise, groups


def same_groups(one, other):
    return np.array_equal(one[:, None] == one, other[:, None] == other)


@given(seeds, counts, thresholds)
def test_average_linkage_is_that_of_scikit_learn(seed, count, threshold):
    similarities = random_similarities(seed, count)
    expected = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=1 - threshold
    ).fit_predict(1 - similarities * (1 - np.eye(count)) - np.eye(count))
    assert same_groups(cluster(similarities, threshold=threshold), expected)


def plain_average(similarities, threshold):
    """Average linkage over the pairs that are known, by its definition."""
    groups = [[item] for item in range(len(similarities))]
    while True:
        means = {}
        for place, one in enumerate(groups):
            for later, other in enumerate(groups[place + 1 :], start=place + 1):
                block = similarities[np.ix_(one, other)]
                means[place, later] = np.nanmean(block) if np.isfinite(block).any() else -np.inf
        best = max(means, key=means.get, default=None)
        if best is None or means[best] < threshold:
            return np.array([place for item in range(len(similarities)) for place, g in enumerate(groups) if item in g])
        groups[best[0]] += groups.pop(best[1])


@settings(max_examples=40)
@given(seeds, st.integers(2, 12), thresholds)
def test_average_linkage_leaves_out_what_is_not_known(seed, count, threshold):
    similarities = random_similarities(seed, count, unknown=0.4)
    assert same_groups(cluster(similarities, threshold=threshold), plain_average(similarities, threshold))


@given(seeds, counts, thresholds)
def test_components_are_those_of_networkx(seed, count, threshold):
    similarities = random_similarities(seed, count, unknown=0.2) ** 8
    graph = networkx.Graph(np.argwhere(np.triu(similarities >= threshold, 1)).tolist())
    graph.add_nodes_from(range(count))
    found = cluster(similarities, threshold=threshold, method="components")
    assert {frozenset(np.flatnonzero(found == number).tolist()) for number in found} == set(
        map(frozenset, networkx.connected_components(graph))
    )


@given(seeds, counts, thresholds)
@pytest.mark.parametrize("method", ["average", "components"])
def test_the_order_of_items_changes_nothing(method, seed, count, threshold):
    similarities, order = random_similarities(seed, count), np.random.default_rng(seed).permutation(count)
    found = cluster(similarities, threshold=threshold, method=method)
    turned = cluster(similarities[np.ix_(order, order)], threshold=threshold, method=method)
    assert same_groups(found[order], turned)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), seeds)
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("method", METHODS)
def test_groups_that_are_clear_are_found_in_any_order(method, sizes, seed):
    similarities, groups = planted(sizes, seed)
    order = np.random.default_rng(seed).permutation(len(groups))
    found = cluster(similarities[np.ix_(order, order)], threshold=0.5, method=method)
    assert same_groups(found, groups[order])


@given(seeds, counts, thresholds)
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("method", METHODS)
def test_clusters_of_any_similarities(method, seed, count, threshold):
    similarities = random_similarities(seed, count, unknown=0.3)
    found = cluster(similarities, threshold=threshold, method=method)
    assert np.array_equal(found, cluster(similarities, threshold=threshold, method=method))
    assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))
    together = cluster(similarities, threshold=threshold, method="components")
    for number in set(found.tolist()) if method != "average" else ():
        assert len(set(together[found == number].tolist())) == 1, "no cluster goes beyond a component"


@pytest.mark.parametrize("method", METHODS)
def test_one_item_none_similar_and_all_similar(method):
    assert cluster(np.full((0, 0), 0.0), threshold=0.5, method=method).tolist() == []
    for nothing in (np.nan, 1.0):
        assert cluster(np.full((1, 1), nothing), threshold=0.5, method=method).tolist() == [0]
    assert cluster(np.full((4, 4), 0.2), threshold=0.5, method=method).tolist() == [0, 1, 2, 3]
    assert cluster(np.full((4, 4), np.nan), threshold=0.5, method=method).tolist() == [0, 1, 2, 3]
    assert cluster(np.full((4, 4), 0.8), threshold=0.5, method=method).tolist() == [0, 0, 0, 0]
    assert cluster(np.full((4, 4), 0.5), threshold=0.5, method=method).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("method", ["labels", "infomap"])
def test_a_bridge_connects_components_but_not_communities(method):
    similarities, groups = planted([6, 6])
    similarities[0, 6] = similarities[6, 0] = 0.6
    assert set(cluster(similarities, threshold=0.5, method="components").tolist()) == {0}
    assert adjusted_rand(cluster(similarities, threshold=0.5, method=method).tolist(), groups.tolist()) == 1


def test_average_linkage_of_some_hundred_items_takes_no_time():
    similarities, groups = planted([50] * 8)
    assert same_groups(cluster(similarities, threshold=0.5), groups)


def test_a_list_of_pairs_becomes_a_matrix():
    matrix = similarity_matrix(4, np.array([[0, 1], [3, 2]]), np.array([0.9, 0.8]))
    assert cluster(matrix, threshold=0.5).tolist() == [0, 0, 1, 1]
    with pytest.raises(ShapeError, match=r"pairs: got \(1, 2\), expected \(2, 2\), a row per score"):
        similarity_matrix(4, np.array([[0, 1]]), np.array([0.9, 0.8]))


def test_what_is_no_similarity_is_refused(monkeypatch):
    with pytest.raises(ShapeError, match=r"similarities: got \(2, 3\), expected a square matrix"):
        cluster(np.zeros((2, 3)), threshold=0.5)
    with pytest.raises(ArgumentError, match=r"expected a symmetric one. Use the mean of both directions"):
        cluster(np.array([[0, 1], [0.5, 0]]), threshold=0.5)
    with pytest.raises(ArgumentError, match="similarities: got infinite ones, expected numbers, or NaN"):
        cluster(np.full((2, 2), -np.inf), threshold=0.5)
    with pytest.raises(ArgumentError, match="threshold: got nan, expected a finite number"):
        cluster(np.zeros((2, 2)), threshold=float("nan"))
    with pytest.raises(UnknownNameError, match=r"average, components, infomap, labels. Did you mean 'components'\?"):
        cluster(np.zeros((2, 2)), threshold=0.5, method="component")
    with pytest.raises(
        ArgumentError, match=r"similarities: got -1\.0, expected no negative ones with the method infomap"
    ):
        cluster(np.full((2, 2), -1.0), threshold=-2.0, method="infomap")
    monkeypatch.setattr(infomap, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"method: got infomap, .* pip install .*\[cognates\]"):
        cluster(np.zeros((2, 2)), threshold=0.5, method="infomap")


def random_links(seed, count, threshold):
    """Some pairs of records with probabilities, and the components of those above a threshold."""
    random = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(random.random((count, count)) < 0.4, 1))
    similarities = random.random(len(pairs)).round(2)  # so that some are equal
    return pairs, similarities, linked_records(*pairs[similarities >= threshold].T, count)


@given(seeds, counts, thresholds)
def test_average_of_links_is_that_of_a_matrix_with_zeros(seed, count, threshold):
    pairs, similarities, _ = random_links(seed, count, threshold)
    matrix = np.zeros((count, count))
    matrix[tuple(pairs.T)] = matrix[tuple(pairs.T[::-1])] = similarities
    found = average_links(count, pairs, similarities, threshold)
    assert same_groups(found, cluster(matrix, threshold=threshold))


@given(seeds, counts, thresholds)
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("method", ["components", "average", "infomap"])
def test_clusters_of_links_stay_within_components_and_are_numbered_from_1(method, seed, count, threshold):
    pairs, similarities, connected = random_links(seed, count, threshold)
    found = cluster_links(connected, pairs, similarities, threshold=threshold, method=method)
    assert list(dict.fromkeys(found.tolist())) == list(range(1, found.max() + 1))
    assert all(len(set(connected[found == number])) == 1 for number in found)
    alone = np.bincount(connected)[connected] < 3
    assert same_groups(found[alone], connected[alone])


@pytest.mark.parametrize("method", ["average", "infomap"])
def test_one_wrong_link_joins_no_two_large_groups(method):
    groups = [[*range(6)], [*range(6, 12)]]
    pairs = np.array([*((a, b) for group in groups for a in group for b in group if a < b), (0, 6)])
    similarities, connected = np.full(len(pairs), 0.9), linked_records(*pairs.T, 12)
    assert connected.tolist() == [1] * 12
    found = cluster_links(connected, pairs, similarities, threshold=0.5, method=method)
    assert found.tolist() == [1] * 6 + [2] * 6


clusterings = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(clusterings, clusterings, st.integers(0, 50))
def test_ids_are_unique_and_new_ones_are_above_all_old_ones(clusters, before, largest):
    old = np.resize(before, len(clusters))
    found = keep_ids(clusters, old, largest=largest)
    assert same_groups(found.ids, np.array(clusters))
    ids = set(found.ids.tolist())
    new = sorted(ids - set(old.tolist()))
    assert new == [max(largest, old.max()) + 1 + place for place in range(len(new))]
    assert (found.kept, found.new) == (len(ids) - len(new), len(new))
    for number in ids & set(old.tolist()):
        assert number in old[found.ids == number], "an old id is that of some of the cluster's items"


@given(clusterings)
def test_a_run_again_gives_the_same_ids_whatever_they_are(clusters):
    first = keep_ids(clusters, np.zeros(len(clusters), int))
    assert (first.ids == numbered(clusters) + 1).all()
    again = keep_ids(clusters, first.ids * 3)
    assert (again.ids == first.ids * 3).all()
    assert again.counts == {"kept": first.new, "split": 0, "merged": 0, "new": 0}


@given(clusterings, clusterings)
def test_records_that_come_change_no_id(clusters, more):
    first = keep_ids(clusters, np.zeros(len(clusters), int)).ids
    found = keep_ids([*more, *clusters], np.concatenate([np.zeros(len(more), int), first]))
    assert (found.ids[len(more) :] == first).all()
    assert found.new == len(set(more) - set(clusters))
    assert (found.split, found.merged) == (0, 0)


def test_most_items_decide_and_ties_go_to_the_smallest_id_and_the_first_cluster():
    split = keep_ids("aabbb", np.array([2, 2, 2, 2, 2]))
    assert (split.ids.tolist(), split.counts) == ([3, 3, 2, 2, 2], {"kept": 1, "split": 1, "merged": 0, "new": 1})
    merged = keep_ids("aaaa", np.array([5, 3, 0, 0]))
    assert (merged.ids.tolist(), merged.counts) == ([3] * 4, {"kept": 1, "split": 0, "merged": 1, "new": 0})
    assert keep_ids("ab", np.array([7, 7])).ids.tolist() == [7, 8]
    assert keep_ids("", np.zeros(0, int)).ids.tolist() == []
    assert keep_ids("aab", [3, 0, 0]).ids.tolist() == [3, 3, 4]


def test_as_many_ids_of_before_as_items_are_needed():
    with pytest.raises(ShapeError, match=r"before: got \(2,\), expected \(3,\), an id, or 0, for each item"):
        keep_ids("aab", np.array([3, 3]))
