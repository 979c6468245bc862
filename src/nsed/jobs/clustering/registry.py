"""All ways to make clusters by name. A new one is one file and one line here."""

from nsed.jobs.clustering.average import average_linkage
from nsed.jobs.clustering.base import CLUSTERERS
from nsed.jobs.clustering.components import connected_components
from nsed.jobs.clustering.infomap import infomap_modules
from nsed.jobs.clustering.labels import label_propagation

CLUSTERERS.register("average", average_linkage)
CLUSTERERS.register("components", connected_components)
CLUSTERERS.register("labels", label_propagation)
CLUSTERERS.register("infomap", infomap_modules)

__all__ = ["CLUSTERERS"]
