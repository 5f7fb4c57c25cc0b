"""Test scheduling over worker processes (pytest-xdist): whole groups, the longest first.

So `pytest -n 2` starts what is costly once, and both workers end at about the same time.
"""

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.groups import group_of, rank


class GroupScheduling(LoadScopeScheduling):
    """Load balancing by groups: a worker that runs out of tests gets the longest group left."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=rank), last=False)
        super()._assign_work_unit(node)
