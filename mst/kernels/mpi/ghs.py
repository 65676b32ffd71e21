"""The state machine of Gallager, Humblet and Spira, for all nodes of one rank.

"A distributed algorithm for minimum-weight spanning trees", ACM TOPLAS 5(1), 1983: the procedures below are (1) to
(12) of the paper's appendix, under their names. A *slot* is one end of an edge, at that end's node. The name
of a fragment is the edge id of its core. Weights are (word, id), ascending in the order by (weight, edge id).

Arrays that the procedures share:

- ``nodes``: `NODE` records, shape (nodes of this rank,); ``node`` is one of them;
- ``slots``: `SLOT` records, shape (ends of edges at this rank,), grouped by node; `j` is the position of
  one of them: for a message, of the slot at which it arrived;
- ``mailbox``: a `Mailbox`; ``options``: an `Options`;
- ``message``: a `MESSAGE` record; ``level``, a uint8, ``name``, an int64, and ``word`` and ``e``, a uint64 and an
  int64: the level and the name of a fragment, and a weight, from a message;
- ``waiting``: `MESSAGE` records, shape (space,), and ``following``: int64, shape (space,): for each node, a linked list
  of messages waiting there; ``following[i]`` is the position of the message after ``waiting[i]``, or -1.

A rank runs its nodes on one thread. A procedure whose message may have to wait returns whether the node could respond.

Records keep the fields of a node, slot or message in one cache line, and reduce the number of arrays that
procedures pass on: counting references to each array would cost more than the work on a message.
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
        ("begin", np.int32),  # of its slots
        ("end", np.int32),
        ("cursor", np.int32),  # the first slot that may be basic, if slots ascend in weight
        ("find_count", np.int32),
        ("in_branch", np.int32),
        ("test_edge", np.int32),
        ("best_edge", np.int32),
        ("waiting", np.int32),  # the first message in the list of those waiting here
        ("level", np.uint8),  # LN
        ("finding", np.uint8),  # SN: 1 is Find, 0 is Found
        ("woken", np.uint8),  # 1 if waiting messages may be tried again
        ("_", np.uint8, 5),
    ]
)
"""A node, of 64 bytes. Slots and messages are referred to by position; -1 stands for none."""

SLOT = np.dtype(
    [
        ("word", np.uint64),
        ("id", np.int64),
        ("node", np.int32),
        ("peer", np.int32),  # the other end's slot on its rank, or with linear look-up its node there
        ("peer_rank", np.int32),
        ("state", np.uint8),  # SE
        ("_", np.uint8, 3),
    ]
)
"""One end of an edge, of 32 bytes."""

MESSAGE = np.dtype(
    [
        ("address", np.int64),  # the receiver's slot, or with linear look-up its node
        ("edge", np.int64),
        ("first", np.uint64),  # the fragment's name, or the word of the reported weight
        ("second", np.int64),  # the id of the reported weight, or the hops of an initiate message
        ("to", np.int32),
        ("kind", np.uint8),
        ("level", np.uint8),
        ("finding", np.uint8),
    ],
    align=True,
)
"""A message to rank `to`."""


class Mailbox(NamedTuple):
    """The messages this rank has to process and to send.

    Attributes
    ----------
    queue, out : numpy.ndarray of MESSAGE, shape (space,)
        Messages to this rank's nodes, first in, first out; and messages to nodes on other ranks.
    marks : numpy.ndarray of int64, shape (5,)
        The length of `queue`, the length of `out`, the number of positions of `waiting` used so far,
        the first position that is free again (`following` links them) or -1, and the most hops an initiate
        message has made on its way through a fragment.
    counts : numpy.ndarray of int64, shape (7,)
        Messages sent so far, by kind.
    """

    queue: np.ndarray
    out: np.ndarray
    marks: np.ndarray
    counts: np.ndarray


class Options(NamedTuple):
    """This rank, and the options of Shou and He.

    Attributes
    ----------
    rank : int
    ordered : bool
        Whether the slots of a node ascend in weight, so that its lightest basic edge is found by a cursor.
    linear_lookup : bool
        Whether the receiver of a message searches its slots for the edge; if not, the message names the slot.
    queue_by_node : bool
        Whether messages that arrive too early wait at their node, not at the end of the rank's queue.
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
    """Empty the mailbox's `out`; return its messages, a view that later messages will overwrite."""
    sent = int(mailbox.marks[_SENT])
    mailbox.marks[_SENT] = 0
    return mailbox.out[:sent]


def most_hops(mailbox: Mailbox) -> int:
    """Return the most hops so far of any initiate message that reached this rank."""
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
    """Append a message of a `kind`, such as `CONNECT`, over slot `j` to the queue or to `out`; both have space.

    `fields` are the values of `MESSAGE`: ``(level, finding, first, second)``.
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
    """Return the position of the lightest basic slot of a node, an int64, or -1."""
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
    """Procedures (1) and (2), wakeup: connect over the lightest slot, if any."""
    j = _lightest_basic(node, slots, options)
    if j >= 0:
        slots[j].state = BRANCH
        _send(slots, mailbox, options, j, CONNECT, _NO_FIELDS)


@njit(forceinline=True)
def _on_connect(node, slots, mailbox, options, j, level):
    """Procedure (3): absorb a lower-level fragment, merge with one that chose the same edge, or let it wait."""
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
    """Procedure (4): take the fragment's level, name and state, pass them on along branches, and begin to find."""
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
    """Procedure (5): test the lightest basic slot, or report if there is none."""
    j = _lightest_basic(node, slots, options)
    node.test_edge = j
    if j >= 0:
        _send(slots, mailbox, options, j, TEST, (node.level, 0, np.uint64(node.name), NEVER))
    else:
        _report(node, slots, mailbox, options)


@njit(forceinline=True)
def _on_test(node, slots, mailbox, options, j, level, name):
    """Procedure (6): accept or reject a slot by the names of both fragments; wait while this one's level is lower."""
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
    """Procedure (7): slot `j` leaves the fragment: it is the best edge if it is lighter than the best so far."""
    node.test_edge = _NIL
    if _lighter(slots[j].word, slots[j].id, node.best_word, node.best_id):
        node.best_edge, node.best_word, node.best_id = j, slots[j].word, slots[j].id
    _report(node, slots, mailbox, options)


@njit(forceinline=True)
def _on_reject(node, slots, mailbox, options, j):
    """Procedure (8): slot `j` lies inside the fragment: test the next one."""
    if slots[j].state == BASIC:
        slots[j].state = REJECTED
    _test(node, slots, mailbox, options)


@njit(forceinline=True)
def _report(node, slots, mailbox, options):
    """Procedure (9): once all branches and the node's own test are done, send the best weight towards the core."""
    if node.find_count == 0 and node.test_edge == _NIL:
        node.finding = 0
        node.woken = 1
        _send(slots, mailbox, options, node.in_branch, REPORT, (0, 0, node.best_word, node.best_id))


@njit(forceinline=True)
def _on_report(node, slots, mailbox, options, j, word, e):
    """Procedure (10): take a branch's best weight; at the core, find on which side the best edge is, or wait."""
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
    # Otherwise the other half has the lighter edge, or neither has one and the fragment is a tree of the forest.
    return True


@njit(forceinline=True)
def _change_root(node, slots, mailbox, options):
    """Procedures (11) and (12): move the root towards the best edge, and connect over it at its node."""
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
    """Return a mailbox with space for `more` messages in either array after requeueing all present ones.

    With less space, some waiting messages would be retried before others have been tried once.
    """
    needed = [2 * int(mark) + more for mark in mailbox.marks[:2]]
    return mailbox._replace(queue=longer(mailbox.queue, needed[0]), out=longer(mailbox.out, needed[1]))


def longer(messages: np.ndarray, size: int) -> np.ndarray:
    """Return `messages`, in a new array of at least `size` and at least twice its length if it is shorter."""
    if size <= len(messages):
        return messages
    more = np.empty(max(size, 2 * len(messages)), messages.dtype)
    more[: len(messages)] = messages
    return more


def wake_nodes(nodes: np.ndarray, slots: np.ndarray, mailbox: Mailbox, options: Options) -> Mailbox:
    """Wake up every node of this rank; return the mailbox, whose arrays may have grown."""
    mailbox = with_space(mailbox, len(nodes))
    _wake_nodes(nodes, slots, mailbox, options)
    return mailbox


@njit
def _wake_nodes(nodes, slots, mailbox, options):
    """Wake up every node; the mailbox has space for a message from each."""
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

    A message that must wait goes to the end of the queue, and processing ends when all queued ones must wait; with
    `queue_by_node` it goes to a list at its node until the node's state changes. (It must not wait until the queue is
    empty: a report waiting for the node to be *found* would be overtaken by a new *initiate*.)

    Returns
    -------
    mailbox, waiting, following
        As given, but the arrays may have grown.
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
    """Respond to messages as `process_messages` does, while there is space.

    Returns 0 at the end, else the number of messages that the queue and `out` need space for to go on; `waiting` also
    needs more if all its positions are used.

    Arrays are never replaced here: counting references to them would cost more than the work on a message.
    """
    marks = mailbox.marks
    done, fruitless = np.int64(0), np.int64(0)
    while done < marks[_QUEUED] and fruitless < marks[_QUEUED] - done:
        # Processed messages are dropped before the array has to grow.
        if done > mailbox.queue.size // 2:
            _drop(mailbox, done)
            done = np.int64(0)
        message = mailbox.queue[done]
        if not options.linear_lookup:
            # The next receivers are known, and their slots and nodes are scattered in memory.
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
    """Insert a message at the head of a node's list of waiting messages; `marks` are the mailbox's.

    `waiting` has space for it.
    """
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
    """Unite nodes of this rank by Borůvka rounds, as long as some component's lightest edge ends at this rank.

    Parameters
    ----------
    source, target : array of int64, shape (arcs,)
        Positions of this rank's nodes; `target` is read only where `inner`.
    inner : array of bool, shape (arcs,)
        Whether the arc ends at a node of this rank.
    words : array of uint64, shape (arcs,)
    ids : array of int64, shape (arcs,)
        The arcs' weights, as (word, edge id).
    node : array of int64, shape (nodes,)
        ``0 … nodes - 1``; overwritten. In the end ``node[x]`` is the smallest node that `x` was united with.
    taken : array of int64, shape (nodes,)
        The ids of the edges that united nodes, from the front; overwritten.

    Returns
    -------
    int
        Number of these edges.
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
