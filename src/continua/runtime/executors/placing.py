"""Where tasks run: each partition of a level on the executor that has its state, as far as that is there.

Which executor that is, is decided here: as few partitions as can be move when executors come and go, and none has many
more than others. Spark is asked to run a task there by a preferred location. That is one of an RDD of places, whose
partitions are brought together with those of what is worked on, one with one, so that it does not matter whether these
come from the driver or through an exchange. An executor that is gone, or busy for longer than ``spark.locality.wait``,
is only a preference: the task runs elsewhere, and loads the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

Item = TypeVar("Item")


class Placing:
    """Gives the tasks of a context their places."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._spark: Any = context._jsc.sc()
        self._ids = ""
        """The executors that were there when it was asked last, as Spark tells them."""
        self._hosts: dict[str, str] = {}
        self._owners: dict[int, tuple[tuple[str, str], ...]] = {}
        """By the number of tasks: which executor each of them belongs to, and its host."""
        self._places: tuple[tuple[tuple[str, str], ...], Any] | None = None
        self._second: Any = None

    def placed(self, items: RDD[Item], tasks: int) -> RDD[Item]:
        """The same, with every partition where the task of its number belongs."""
        from pyspark import RDD

        owners = self._owners_of(tasks)
        if not owners:
            return items
        jvm: Any = self._context._jvm
        tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").AnyRef()
        places = self._places_of(owners, tag)
        if self._second is None:
            self._second = _second(jvm)
        together = places.zipPartitions(items._jrdd.rdd(), False, self._second, tag, tag)
        return RDD(together.toJavaRDD(), self._context, items._jrdd_deserializer)

    def _places_of(self, owners: tuple[tuple[str, str], ...], tag: Any) -> Any:
        """An RDD of nothing but places; that of the last time is as good while they are the same."""
        if self._places is None or self._places[0] != owners:
            jvm: Any = self._context._jvm
            found = jvm.java.util.ArrayList()
            for executor, host in owners:
                preferred = jvm.java.util.ArrayList()
                preferred.add(f"executor_{host}_{executor}")
                found.add(jvm.scala.Tuple2("", jvm.PythonUtils.toSeq(preferred)))
            self._places = owners, self._spark.makeRDD(jvm.PythonUtils.toSeq(found), tag)
        return self._places[1]

    def _owners_of(self, tasks: int) -> tuple[tuple[str, str], ...]:
        ids = str(self._spark.getExecutorIds().mkString(","))
        if not ids:
            return ()
        if ids != self._ids or not set(ids.split(",")) <= self._hosts.keys():
            self._hosts, self._ids = self._hosts_now(), ids
        living = {e: self._hosts[e] for e in ids.split(",") if e in self._hosts}
        before = self._owners.get(tasks, ())
        if not before or {e for e, _ in before} != living.keys():
            self._owners[tasks] = owners(before, living, tasks)
        return self._owners[tasks]

    def _hosts_now(self) -> dict[str, str]:
        """Where executors are, as far as Spark knows already: it is told of new ones a little later."""
        known = self._spark.statusStore().executorList(True)
        found = (known.apply(place) for place in range(known.size()))
        hosts = {str(e.id()): str(e.hostPort()).rpartition(":")[0] for e in found}
        return {executor: host for executor, host in hosts.items() if host}


def owners(before: Sequence[tuple[str, str]], living: Mapping[str, str], tasks: int) -> tuple[tuple[str, str], ...]:
    """An executor for every task, and its host: the one that it had, if that lives and has not too many.

    Else it is one of the same host, where the folders of the old one may be, or the one that has the fewest.
    """
    if not living:
        return ()
    most = -(-tasks // len(living))
    had: dict[str, int] = dict.fromkeys(living, 0)
    found: dict[int, str] = {}

    def give(task: int, executor: str) -> None:
        found[task] = executor
        had[executor] += 1

    for task, (executor, _) in enumerate(before):
        if had.get(executor, most) < most:
            give(task, executor)
    for task, (_, host) in enumerate(before):
        near = [e for e, where in living.items() if where == host and had[e] < most]
        if task not in found and near:
            give(task, min(near, key=lambda e: had[e]))
    for task in range(tasks):
        if task not in found:
            give(task, min(living, key=lambda e: had[e]))
    return tuple((found[task], living[found[task]]) for task in range(tasks))


def _second(jvm: Any) -> Any:
    """A function of Spark's own world that gives the second of two things.

    It is made of what Scala's library has, as executors do not know any class of ours: a map that holds nothing gives
    for everything its default, the identity.
    """
    identity = getattr(jvm.scala.Predef, "$conforms")()
    empty = jvm.scala.Predef.Map().empty()
    by_name, methods = jvm.java.lang.Class.forName, jvm.java.lang.invoke
    kind = methods.MethodType.methodType(by_name("scala.Function2"), by_name("scala.Function1"))
    # several methods have this name, and differ in what they return alone
    uncurried = methods.MethodHandles.publicLookup().findStatic(by_name("scala.Function"), "uncurried", kind)
    given = jvm.java.util.ArrayList()
    given.add(empty.withDefaultValue(identity))
    return uncurried.invokeWithArguments(given)
