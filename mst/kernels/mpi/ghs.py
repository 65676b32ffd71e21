"""The state machine of Gallager, Humblet and Spira, for all nodes of one rank.

"A distributed algorithm for minimum-weight spanning trees", ACM TOPLAS 5(1), 1983. The functions below are procedures
(1) to (12) of the paper's appendix and keep their names. A *slot* is one end of an edge, stored at its node. A fragment
is named by the edge id of its core. A weight is a pair (word, id), which orders edges by (weight, edge id).

Arguments of the procedures:

- ``nodes``: `NODE` records, shape (nodes of this rank,); ``node``: the record of the node that acts;
- ``slots``: `SLOT` records, shape (ends of edges at this rank,), grouped by node; ``j``: position of a slot, which for
  a received message is the slot at which it arrived;
- ``mailbox``: a `Mailbox`; ``options``: an `Options`;
- ``message``: the `MESSAGE` record received, or fields of it: ``level``, uint8, and ``name``, int64, of the sender's
  fragment; ``word``, uint64, and ``e``, int64, of a weight;
- ``waiting``: `MESSAGE` records, shape (space,), and ``following``: int64, shape (space,). They hold a linked list of
  waiting messages for each node; ``following[i]`` is the position of the message after ``waiting[i]``, or -1.

Each rank runs its nodes on a single thread. A procedure whose message may have to wait returns whether it responded.

Records keep all fields of a node, slot or message in one cache line. They also keep the number of arrays passed between
procedures small: counting references to more arrays would cost more than the work on a message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.union_find.sequential import find

CONNECT, INITIATE, TEST, ACCEPT, REJECT, REPORT, CHANGE_ROOT = range(7)
KINDS = ("connect", "initiate", "test", "accept", "reject", "report", "change_root")
BASIC, BRANCH, REJECTED = range(3)
NEVER = np.int64(2**63 - 1)
_NIL = np.int64(-1)
_FIRST_HOP = np.int64(1)
_HEAVIEST = np.uint64(2**64 - 1)
_NO_FIELDS = (0, 0, _HEAVIEST, NEVER)
_QUEUED, _SENT, _WAITING, _FREE, _HOPS = range(5)
_SLOTS_AHEAD, _NODES_AHEAD = 24, 12

NODE = np.dtype(
    [
        ("name", np.int64),  # FN
        ("best_word", np.uint64),  # best-wt
        ("best_id", np.int64),
        ("begin", np.int32),  # the node's slots are begin … end - 1
        ("end", np.int32),
        ("cursor", np.int32),  # with `Options.ordered`, no slot before this one is basic
        ("find_count", np.int32),
        ("in_branch", np.int32),
        ("test_edge", np.int32),
        ("best_edge", np.int32),
        ("waiting", np.int32),  # head of the list of waiting messages
        ("level", np.uint8),  # LN
        ("finding", np.uint8),  # SN: 1 is Find, 0 is Found
        ("woken", np.uint8),  # 1 if a change of state may let waiting messages proceed
        ("_", np.uint8, 5),
    ]
)
"""A node, of 64 bytes. Comments give the paper's names. Slots and messages are given by position; -1 means none."""

SLOT = np.dtype(
    [
        ("word", np.uint64),
        ("id", np.int64),
        ("node", np.int32),
        ("peer", np.int32),  # the other end's slot on `peer_rank`, or with linear look-up its node
        ("peer_rank", np.int32),
        ("state", np.uint8),  # SE
        ("_", np.uint8, 3),
    ]
)
"""One end of an edge, of 32 bytes."""

MESSAGE = np.dtype(
    [
        ("address", np.int64),  # the receiver's slot, or with linear look-up the receiver
        ("edge", np.int64),
        ("first", np.uint64),  # the sender's fragment name, or the word of the reported weight
        ("second", np.int64),  # the id of the reported weight, or the number of hops of an initiate message
        ("to", np.int32),
        ("kind", np.uint8),
        ("level", np.uint8),
        ("finding", np.uint8),
    ],
    align=True,
)
"""A message to rank `to`."""


class Mailbox(NamedTuple):
    """The messages that this rank has to process and to send.

    Attributes
    ----------
    queue, out : numpy.ndarray of MESSAGE, shape (space,)
        Messages to this rank's nodes, in order of arrival; and messages to nodes on other ranks.
    marks : numpy.ndarray of int64, shape (5,)
        The number of messages in `queue`; the number in `out`; the number of positions of `waiting` ever used; the head
        of the list of positions that became free (linked by `following`), or -1; and the largest number of hops of an
        initiate message received so far.
    counts : numpy.ndarray of int64, shape (7,)
        Messages sent so far, by kind.
    """

    queue: np.ndarray
    out: np.ndarray
    marks: np.ndarray
    counts: np.ndarray


class Options(NamedTuple):
    """The number of this rank, and the variants of Shou and He.

    Attributes
    ----------
    rank : int
    ordered : bool
        Whether the slots of a node ascend in weight, so that its lightest basic edge is found by a cursor.
    linear_lookup : bool
        Whether a message names its receiver, which searches its slots for the edge; if not, it names the slot.
    queue_by_node : bool
        Whether a message that arrives too early waits at its node; if not, it goes to the end of the rank's queue.
    """

    rank: int
    ordered: bool
    linear_lookup: bool
    queue_by_node: bool


def aligned_records(size: int, dtype: np.dtype) -> np.ndarray:
    """Return zeroed records, shape (size,), aligned to a cache line."""
    raw = np.zeros(size * dtype.itemsize + 64, np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size * dtype.itemsize].view(dtype)


def new_nodes(offsets: np.ndarray) -> np.ndarray:
    """Return sleeping nodes: `NODE`, shape (nodes,).

    Node `x` has the slots ``offsets[x] … offsets[x + 1] - 1``; `offsets` is int, of shape (nodes + 1,).
    """
    nodes = aligned_records(len(offsets) - 1, NODE)
    nodes["begin"] = nodes["cursor"] = offsets[:-1]
    nodes["end"] = offsets[1:]
    nodes["name"] = nodes["best_id"] = NEVER
    nodes["best_word"] = _HEAVIEST
    for field in ("in_branch", "test_edge", "best_edge", "waiting"):
        nodes[field] = _NIL
    return nodes


def new_mailbox() -> Mailbox:
    """Return a mailbox without messages."""
    few = np.zeros(64, MESSAGE)
    return Mailbox(few, few.copy(), np.array([0, 0, 0, -1, 0]), np.zeros(len(KINDS), np.int64))


def take_outgoing(mailbox: Mailbox) -> np.ndarray:
    """Empty `out` of the mailbox and return its messages, as a view that later messages will overwrite."""
    sent = int(mailbox.marks[_SENT])
    mailbox.marks[_SENT] = 0
    return mailbox.out[:sent]


def most_hops(mailbox: Mailbox) -> int:
    """Return the largest number of hops of any initiate message that has reached this rank."""
    return int(mailbox.marks[_HOPS])


def add_arrived(mailbox: Mailbox, arrived: np.ndarray) -> Mailbox:
    """Return the mailbox with `arrived`, `MESSAGE` (k,), appended to its queue, which may be a new array."""
    queued = int(mailbox.marks[_QUEUED])
    mailbox.marks[_QUEUED] += len(arrived)
    if queued + len(arrived) <= len(mailbox.queue):
        mailbox.queue[queued : queued + len(arrived)] = arrived
        return mailbox
    return mailbox._replace(queue=np.concatenate([mailbox.queue[:queued], arrived]))


@njit(forceinline=True)
def _send(slots, mailbox, options, j, kind, fields):
    """Send a message of a `kind`, such as `CONNECT`, over slot `j`: append it to the queue or to `out`.

    Both must have space. `fields` are the values ``(level, finding, first, second)`` of `MESSAGE`.
    """
    slot = slots[j]
    if slot.peer_rank == options.rank:
        message = mailbox.queue[mailbox.marks[_QUEUED]]
        mailbox.marks[_QUEUED] += 1
    else:
        message = mailbox.out[mailbox.marks[_SENT]]
        mailbox.marks[_SENT] += 1
    message.address, message.edge, message.to = slot.peer, slot.id, slot.peer_rank
    message.kind = kind
    message.level, message.finding, message.first, message.second = fields
    mailbox.counts[kind] += 1


@njit(inline="always")
def _lighter(word, e, than_word, than_id):
    """Return whether the weight ``(word, e)`` comes before ``(than_word, than_id)`` in the order."""
    return word < than_word or (word == than_word and e < than_id)


@njit(forceinline=True)
def _lightest_basic(node, slots, options):
    """Return the position of a node's lightest basic slot, an int64, or -1 if it has none."""
    if options.ordered:
        j = node.cursor
        while j < node.end and slots[j].state != BASIC:
            j += 1
        node.cursor = j
        return j if j < node.end else _NIL
    best = _NIL
    for j in range(node.begin, node.end):
        if slots[j].state == BASIC and (
            best < 0 or _lighter(slots[j].word, slots[j].id, slots[best].word, slots[best].id)
        ):
            best = np.int64(j)
    return best


@njit
def _wake_up(node, slots, mailbox, options):
    """Procedures (1) and (2), wakeup: send a connect message over the node's lightest slot, if it has one."""
    j = _lightest_basic(node, slots, options)
    if j >= 0:
        slots[j].state = BRANCH
        _send(slots, mailbox, options, j, CONNECT, _NO_FIELDS)


@njit(forceinline=True)
def _on_connect(node, slots, mailbox, options, j, level):
    """Procedure (3): absorb a fragment of lower level or merge with one that chose the same edge; else let it wait."""
    if level < node.level:
        slots[j].state = BRANCH
        _send(
            slots, mailbox, options, j, INITIATE, (node.level, node.finding, np.uint64(node.name), _FIRST_HOP)
        )
        node.find_count += node.finding
    elif slots[j].state == BASIC:
        return False
    else:
        _send(slots, mailbox, options, j, INITIATE, (node.level + 1, 1, np.uint64(slots[j].id), _FIRST_HOP))
    return True


@njit(forceinline=True)
def _on_initiate(node, slots, mailbox, options, j, message):
    """Procedure (4): adopt the fragment's level, name and state, forward them along branches, and start testing."""
    level, name, finding, hops = message.level, np.int64(message.first), message.finding, message.second
    mailbox.marks[_HOPS] = max(mailbox.marks[_HOPS], hops)
    node.level, node.name, node.finding, node.in_branch = level, name, finding, j
    node.best_edge, node.best_word, node.best_id = _NIL, _HEAVIEST, NEVER
    node.woken = 1
    for i in range(node.begin, node.end):
        if i != j and slots[i].state == BRANCH:
            _send(slots, mailbox, options, i, INITIATE, (level, finding, np.uint64(name), hops + _FIRST_HOP))
            node.find_count += finding
    if finding:
        _test(node, slots, mailbox, options)


@njit(forceinline=True)
def _test(node, slots, mailbox, options):
    """Procedure (5): send a test over the node's lightest basic slot; if there is none, try to report."""
    j = _lightest_basic(node, slots, options)
    node.test_edge = j
    if j >= 0:
        _send(slots, mailbox, options, j, TEST, (node.level, 0, np.uint64(node.name), NEVER))
    else:
        _report(node, slots, mailbox, options)


@njit(forceinline=True)
def _on_test(node, slots, mailbox, options, j, level, name):
    """Procedure (6): accept the edge if the fragments' names differ, else reject it; wait while this level is lower."""
    if level > node.level:
        return False
    if name != node.name:
        _send(slots, mailbox, options, j, ACCEPT, _NO_FIELDS)
        return True
    if slots[j].state == BASIC:
        slots[j].state = REJECTED
    if node.test_edge != j:
        _send(slots, mailbox, options, j, REJECT, _NO_FIELDS)
    else:
        _test(node, slots, mailbox, options)
    return True


@njit(forceinline=True)
def _on_accept(node, slots, mailbox, options, j):
    """Procedure (7): slot `j` leaves the fragment; record it if it is lighter than the best edge so far, and report."""
    node.test_edge = _NIL
    if _lighter(slots[j].word, slots[j].id, node.best_word, node.best_id):
        node.best_edge, node.best_word, node.best_id = j, slots[j].word, slots[j].id
    _report(node, slots, mailbox, options)


@njit(forceinline=True)
def _on_reject(node, slots, mailbox, options, j):
    """Procedure (8): slot `j` lies inside the fragment; mark it rejected and test the next one."""
    if slots[j].state == BASIC:
        slots[j].state = REJECTED
    _test(node, slots, mailbox, options)


@njit(forceinline=True)
def _report(node, slots, mailbox, options):
    """Procedure (9): once all branches have reported and no test is open, send the best weight towards the core."""
    if node.find_count == 0 and node.test_edge == _NIL:
        node.finding = 0
        node.woken = 1
        _send(slots, mailbox, options, node.in_branch, REPORT, (0, 0, node.best_word, node.best_id))


@njit(forceinline=True)
def _on_report(node, slots, mailbox, options, j, word, e):
    """Procedure (10): take the best weight of a branch; at the core, compare both halves, or wait for the own one."""
    if j != node.in_branch:
        node.find_count -= 1
        if _lighter(word, e, node.best_word, node.best_id):
            node.best_edge, node.best_word, node.best_id = j, word, e
        _report(node, slots, mailbox, options)
        return True
    if node.finding:
        return False
    if _lighter(node.best_word, node.best_id, word, e):
        _change_root(node, slots, mailbox, options)
    # Otherwise the other half has the lighter edge, or neither half has an edge: the fragment is a tree of the forest.
    return True


@njit(forceinline=True)
def _change_root(node, slots, mailbox, options):
    """Procedures (11) and (12): move the root towards the best edge; at the edge's node, connect over it."""
    j = node.best_edge
    if slots[j].state == BRANCH:
        _send(slots, mailbox, options, j, CHANGE_ROOT, _NO_FIELDS)
    else:
        _send(slots, mailbox, options, j, CONNECT, (node.level, 0, _HEAVIEST, NEVER))
        slots[j].state = BRANCH
        node.woken = 1


@njit(forceinline=True)
def _respond(node, slots, mailbox, options, j, message):
    """Let a node respond to a message; return False if the message must wait."""
    kind = message.kind
    if kind == INITIATE:
        _on_initiate(node, slots, mailbox, options, j, message)
    elif kind == REPORT:
        return _on_report(node, slots, mailbox, options, j, message.first, message.second)
    elif kind == TEST:
        return _on_test(node, slots, mailbox, options, j, message.level, np.int64(message.first))
    elif kind == ACCEPT:
        _on_accept(node, slots, mailbox, options, j)
    elif kind == REJECT:
        _on_reject(node, slots, mailbox, options, j)
    elif kind == CONNECT:
        return _on_connect(node, slots, mailbox, options, j, message.level)
    else:
        _change_root(node, slots, mailbox, options)
    return True


def with_space(mailbox: Mailbox, more: int) -> Mailbox:
    """Return a mailbox whose arrays have space for `more` messages after every present one has been appended again.

    With less space, some waiting messages would be retried before all others have been tried once.
    """
    needed = [2 * int(mark) + more for mark in mailbox.marks[:2]]
    return mailbox._replace(queue=longer(mailbox.queue, needed[0]), out=longer(mailbox.out, needed[1]))


def longer(messages: np.ndarray, size: int) -> np.ndarray:
    """Return `messages`, or if it is shorter than `size`, a copy with at least `size` and twice as many positions."""
    if size <= len(messages):
        return messages
    more = np.empty(max(size, 2 * len(messages)), messages.dtype)
    more[: len(messages)] = messages
    return more


def wake_nodes(nodes: np.ndarray, slots: np.ndarray, mailbox: Mailbox, options: Options) -> Mailbox:
    """Wake up every node of this rank; return the mailbox, whose arrays may be new, longer ones."""
    mailbox = with_space(mailbox, len(nodes))
    _wake_nodes(nodes, slots, mailbox, options)
    return mailbox


@njit
def _wake_nodes(nodes, slots, mailbox, options):
    """Wake up every node. The mailbox must have space for one message from each."""
    for x in range(nodes.size):
        _wake_up(nodes[x], slots, mailbox, options)


def process_messages(
    nodes: np.ndarray,
    slots: np.ndarray,
    mailbox: Mailbox,
    options: Options,
    waiting: np.ndarray,
    following: np.ndarray,
) -> tuple[Mailbox, np.ndarray, np.ndarray]:
    """Respond to messages until all that remain must wait for another rank.

    A message that must wait goes to the end of the queue, and processing ends when every queued message must wait. With
    `queue_by_node` it goes to a list at its node instead, and is retried as soon as the node's state changes. A retry
    only once the queue is empty would be too late: a new *initiate* could overtake a report that waits for the node to
    reach the state *Found*.

    Returns
    -------
    mailbox, waiting, following
        The arguments, in new, longer arrays if they needed more space.
    """
    while True:
        lacking = _process_messages(nodes, slots, mailbox, options, waiting, following)
        if lacking == 0:
            return mailbox, waiting, following
        mailbox = with_space(mailbox, lacking)
        if mailbox.marks[_WAITING] == len(waiting):
            waiting, old = longer(waiting, len(waiting) + 1), following
            following = np.empty(len(waiting), np.int64)
            following[: len(old)] = old


@njit
def _process_messages(nodes, slots, mailbox, options, waiting, following):
    """Respond to messages as `process_messages` does, but stop if an array lacks space.

    Return 0 when done, else the number of messages for which the queue and `out` must have space to continue. `waiting`
    must also grow if all its positions are used.

    Arrays are never replaced here: counting references to them would cost more than the work on a message.
    """
    marks = mailbox.marks
    done, fruitless = np.int64(0), np.int64(0)
    while done < marks[_QUEUED] and fruitless < marks[_QUEUED] - done:
        # Reuse the space of processed messages, so that the array need not grow.
        if done > mailbox.queue.size // 2:
            _drop(mailbox, done)
            done = np.int64(0)
        message = mailbox.queue[done]
        if not options.linear_lookup:
            # The next receivers are known, but their slots and nodes are scattered in memory.
            last = marks[_QUEUED] - 1
            prefetch_to_write(slots, mailbox.queue[min(done + _SLOTS_AHEAD, last)].address)
            soon = slots[mailbox.queue[min(done + _NODES_AHEAD, last)].address].node
            prefetch_to_write(nodes, soon)
        j = np.int64(message.address)
        if options.linear_lookup:
            j = np.int64(nodes[j].begin)
            while slots[j].id != message.edge:
                j += 1
        x = slots[j].node
        most = nodes[x].end - nodes[x].begin + 2 + marks[_WAITING]
        if (
            marks[_QUEUED] + most > mailbox.queue.size
            or marks[_SENT] + most > mailbox.out.size
            or marks[_WAITING] == waiting.size
        ):
            _drop(mailbox, done)
            return most
        done += 1
        if _respond(nodes[x], slots, mailbox, options, j, message):
            fruitless = np.int64(0)
        elif options.queue_by_node:
            _wait(nodes[x], marks, waiting, following, message)
        else:
            mailbox.queue[marks[_QUEUED]] = message
            marks[_QUEUED] += 1
            fruitless += 1
        if options.queue_by_node and nodes[x].woken and nodes[x].waiting >= 0:
            _retry(nodes[x], mailbox, waiting, following)
        nodes[x].woken = 0
    _drop(mailbox, done)
    return np.int64(0)


@njit
def _drop(mailbox, done):
    """Drop the first `done` messages of the queue."""
    rest = mailbox.marks[_QUEUED] - done
    for i in range(rest):
        mailbox.queue[i] = mailbox.queue[done + i]
    mailbox.marks[_QUEUED] = rest


@njit(forceinline=True)
def _wait(node, marks, waiting, following, message):
    """Insert a message at the head of a node's list in `waiting`, which must have space; `marks` are the mailbox's."""
    at = marks[_FREE]
    if at >= 0:
        marks[_FREE] = following[at]
    else:
        at = marks[_WAITING]
        marks[_WAITING] += 1
    waiting[at] = message
    following[at], node.waiting = node.waiting, at


@njit(forceinline=True)
def _retry(node, mailbox, waiting, following):
    """Move all messages waiting at a node back to the queue."""
    at = np.int64(node.waiting)
    while at >= 0:
        mailbox.queue[mailbox.marks[_QUEUED]] = waiting[at]
        mailbox.marks[_QUEUED] += 1
        after = following[at]
        following[at], mailbox.marks[_FREE] = mailbox.marks[_FREE], at
        at = after
    node.waiting = _NIL


@njit
def contract(source, target, inner, words, ids, node, taken):
    """Unite nodes of this rank by Borůvka rounds, while some component's lightest edge has both ends on this rank.

    Parameters
    ----------
    source, target : array of int64, shape (arcs,)
        Ends of the arcs, as positions among this rank's nodes; `target` is read only where `inner` is true.
    inner : array of bool, shape (arcs,)
        Whether the arc ends at a node of this rank.
    words : array of uint64, shape (arcs,)
    ids : array of int64, shape (arcs,)
        The arcs' weights, as (word, edge id).
    node : array of int64, shape (nodes,)
        ``0 … nodes - 1`` on entry; overwritten with the smallest node of each node's component.
    taken : array of int64, shape (nodes,)
        Its front is overwritten with the ids of the edges that united nodes.

    Returns
    -------
    int
        The number of edges that united nodes.
    """
    count = 0
    best = np.empty(node.size, np.int64)
    while True:
        best[:] = -1
        for i in range(source.size):
            x = find(node, source[i])
            if inner[i] and find(node, target[i]) == x:
                continue
            j = best[x]
            if j < 0 or _lighter(words[i], ids[i], words[j], ids[j]):
                best[x] = i
        before = count
        for x in range(node.size):
            if best[x] >= 0 and inner[best[x]]:
                a, b = find(node, source[best[x]]), find(node, target[best[x]])
                if a != b:
                    node[max(a, b)] = min(a, b)
                    taken[count] = ids[best[x]]
                    count += 1
        if count == before:
            break
    for x in range(node.size):
        node[x] = find(node, x)
    return count
