"""The state machine of Gallager, Humblet and Spira, for all nodes of one rank.

"A distributed algorithm for minimum-weight spanning trees", ACM TOPLAS 5(1), 1983: the procedures below are the
paper's, (1) to (10) of its appendix, under its names. A node's *slots* are its edges' ends. A fragment's name is
the edge id of its core. Weights are (word, id), ascending in the order by (weight, edge id).

Nodes, slots and messages are records: what belongs together lies in one cache line, and passing few arrays from
one procedure to the next matters, since counting references to each costs more than the work on a message.
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
_HEAVIEST = np.uint64(2**64 - 1)
_QUEUED, _SENT, _WAITING, _FREE = range(4)
_SLOTS_AHEAD, _NODES_AHEAD = 24, 12

NODE = np.dtype(
    [
        ("name", np.int64),  # FN
        ("best_word", np.uint64),  # best-wt
        ("best_id", np.int64),
        ("begin", np.int32),  # of its slots
        ("end", np.int32),
        ("cursor", np.int32),  # the first slot that may be basic, where slots ascend in weight
        ("find_count", np.int32),
        ("in_branch", np.int32),
        ("test_edge", np.int32),
        ("best_edge", np.int32),
        ("waiting", np.int32),  # the first message that waits here
        ("level", np.uint8),  # LN
        ("finding", np.uint8),  # SN: 1 is Find, 0 is Found
        ("woken", np.uint8),  # what waits may be tried again
        ("_", np.uint8, 5),
    ]
)
"""A node, of 64 bytes; slots and messages are meant by their places, and -1 is none."""

SLOT = np.dtype(
    [
        ("word", np.uint64),
        ("id", np.int64),
        ("node", np.int32),
        ("peer", np.int32),  # the other end's slot on its rank, or its node there if receivers search
        ("peer_rank", np.int32),
        ("state", np.uint8),  # SE
        ("_", np.uint8, 3),
    ]
)
"""One end of an edge, of 32 bytes."""

MESSAGE = np.dtype(
    [
        ("address", np.int64),  # the receiver's slot, or node if receivers search
        ("edge", np.int64),
        ("first", np.uint64),  # a fragment's name, or the word that is reported
        ("second", np.int64),  # the id that is reported
        ("to", np.int32),
        ("kind", np.uint8),
        ("level", np.uint8),
        ("finding", np.uint8),
    ],
    align=True,
)
"""A message to rank `to`."""


class Post(NamedTuple):
    """This rank's messages.

    Attributes
    ----------
    queue, out : numpy.ndarray of MESSAGE
        For this rank, and for the others.
    marks : numpy.ndarray of int64
        How many are in either, and how `waiting` is used: places so far, and the first that is free again.
    counts : numpy.ndarray of int64, shape (7,)
        Messages sent, by kind.
    """

    queue: np.ndarray
    out: np.ndarray
    marks: np.ndarray
    counts: np.ndarray


class How(NamedTuple):
    """This rank, and the options: slots ascend in weight; receivers search; messages wait at nodes."""

    rank: int
    ordered: bool
    searching: bool
    by_node: bool


def in_lines(size: int, dtype: np.dtype) -> np.ndarray:
    """Return zeroed records that start where a cache line does."""
    raw = np.zeros(size * dtype.itemsize + 64, np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size * dtype.itemsize].view(dtype)


def new_nodes(offsets: np.ndarray) -> np.ndarray:
    """Return nodes that have not woken up yet; node `x` has the slots ``offsets[x] … offsets[x + 1] - 1``."""
    nodes = in_lines(len(offsets) - 1, NODE)
    nodes["begin"] = nodes["cursor"] = offsets[:-1]
    nodes["end"] = offsets[1:]
    nodes["name"] = nodes["best_id"] = NEVER
    nodes["best_word"] = _HEAVIEST
    for field in ("in_branch", "test_edge", "best_edge", "waiting"):
        nodes[field] = _NIL
    return nodes


def new_post() -> Post:
    """Return a post office without messages."""
    few = np.zeros(64, MESSAGE)
    return Post(few, few.copy(), np.array([0, 0, 0, -1]), np.zeros(len(KINDS), np.int64))


def take_out(post: Post) -> np.ndarray:
    """Return the messages for other ranks; the next ones will overwrite them."""
    sent = int(post.marks[_SENT])
    post.marks[_SENT] = 0
    return post.out[:sent]


def bring_in(post: Post, arrived: np.ndarray) -> Post:
    """Return the post with messages appended to the queue."""
    queued = int(post.marks[_QUEUED])
    post.marks[_QUEUED] += len(arrived)
    if queued + len(arrived) <= len(post.queue):
        post.queue[queued : queued + len(arrived)] = arrived
        return post
    return post._replace(queue=np.concatenate([post.queue[:queued], arrived]))


@njit(forceinline=True)
def _send(slots, post, how, j, kind, level, finding, first, second):
    slot = slots[j]
    if slot.peer_rank == how.rank:
        message = post.queue[post.marks[_QUEUED]]
        post.marks[_QUEUED] += 1
    else:
        message = post.out[post.marks[_SENT]]
        post.marks[_SENT] += 1
    message.address, message.edge, message.to = slot.peer, slot.id, slot.peer_rank
    message.kind, message.level, message.finding = kind, level, finding
    message.first, message.second = first, second
    post.counts[kind] += 1


@njit(inline="always")
def _lighter(word, e, than_word, than_id):
    return word < than_word or (word == than_word and e < than_id)


@njit(forceinline=True)
def _lightest_basic(node, slots, how):
    if how.ordered:
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
            best = j
    return best


@njit
def _wake_up(node, slots, post, how):
    j = _lightest_basic(node, slots, how)
    if j >= 0:
        slots[j].state = BRANCH
        _send(slots, post, how, j, CONNECT, 0, 0, _HEAVIEST, NEVER)


@njit(forceinline=True)
def _connect(node, slots, post, how, j, level):
    if level < node.level:
        slots[j].state = BRANCH
        _send(slots, post, how, j, INITIATE, node.level, node.finding, np.uint64(node.name), NEVER)
        node.find_count += node.finding
    elif slots[j].state == BASIC:
        return False
    else:
        _send(slots, post, how, j, INITIATE, node.level + 1, 1, np.uint64(slots[j].id), NEVER)
    return True


@njit(forceinline=True)
def _initiate(node, slots, post, how, j, level, name, finding):
    node.level, node.name, node.finding, node.in_branch = level, name, finding, j
    node.best_edge, node.best_word, node.best_id = _NIL, _HEAVIEST, NEVER
    node.woken = 1
    for i in range(node.begin, node.end):
        if i != j and slots[i].state == BRANCH:
            _send(slots, post, how, i, INITIATE, level, finding, np.uint64(name), NEVER)
            node.find_count += finding
    if finding:
        _test(node, slots, post, how)


@njit(forceinline=True)
def _test(node, slots, post, how):
    j = _lightest_basic(node, slots, how)
    node.test_edge = j
    if j >= 0:
        _send(slots, post, how, j, TEST, node.level, 0, np.uint64(node.name), NEVER)
    else:
        _report(node, slots, post, how)


@njit(forceinline=True)
def _asked(node, slots, post, how, j, level, name):
    if level > node.level:
        return False
    if name != node.name:
        _send(slots, post, how, j, ACCEPT, 0, 0, _HEAVIEST, NEVER)
        return True
    if slots[j].state == BASIC:
        slots[j].state = REJECTED
    if node.test_edge != j:
        _send(slots, post, how, j, REJECT, 0, 0, _HEAVIEST, NEVER)
    else:
        _test(node, slots, post, how)
    return True


@njit(forceinline=True)
def _accepted(node, slots, post, how, j):
    node.test_edge = _NIL
    if _lighter(slots[j].word, slots[j].id, node.best_word, node.best_id):
        node.best_edge, node.best_word, node.best_id = j, slots[j].word, slots[j].id
    _report(node, slots, post, how)


@njit(forceinline=True)
def _rejected(node, slots, post, how, j):
    if slots[j].state == BASIC:
        slots[j].state = REJECTED
    _test(node, slots, post, how)


@njit(forceinline=True)
def _report(node, slots, post, how):
    if node.find_count == 0 and node.test_edge == _NIL:
        node.finding = 0
        node.woken = 1
        _send(slots, post, how, node.in_branch, REPORT, 0, 0, node.best_word, node.best_id)


@njit(forceinline=True)
def _reported(node, slots, post, how, j, word, e):
    if j != node.in_branch:
        node.find_count -= 1
        if _lighter(word, e, node.best_word, node.best_id):
            node.best_edge, node.best_word, node.best_id = j, word, e
        _report(node, slots, post, how)
        return True
    if node.finding:
        return False
    if _lighter(node.best_word, node.best_id, word, e):
        _change_root(node, slots, post, how)
    # Else the other half has the lighter edge; or neither has one, and the fragment is a tree of the forest.
    return True


@njit(forceinline=True)
def _change_root(node, slots, post, how):
    j = node.best_edge
    if slots[j].state == BRANCH:
        _send(slots, post, how, j, CHANGE_ROOT, 0, 0, _HEAVIEST, NEVER)
    else:
        _send(slots, post, how, j, CONNECT, node.level, 0, _HEAVIEST, NEVER)
        slots[j].state = BRANCH
        node.woken = 1


@njit(forceinline=True)
def _respond(node, slots, post, how, j, message):
    """Let a node respond to a message; return False if it has to wait."""
    kind = message.kind
    if kind == INITIATE:
        _initiate(node, slots, post, how, j, message.level, np.int64(message.first), message.finding)
    elif kind == REPORT:
        return _reported(node, slots, post, how, j, message.first, message.second)
    elif kind == TEST:
        return _asked(node, slots, post, how, j, message.level, np.int64(message.first))
    elif kind == ACCEPT:
        _accepted(node, slots, post, how, j)
    elif kind == REJECT:
        _rejected(node, slots, post, how, j)
    elif kind == CONNECT:
        return _connect(node, slots, post, how, j, message.level)
    else:
        _change_root(node, slots, post, how)
    return True


def with_room(post: Post, more: int) -> Post:
    """Return a post office with room for `more` messages of either kind, after all that are there were moved once.

    With less, messages that wait would be started on again before each of them has been tried.
    """
    needed = [2 * int(mark) + more for mark in post.marks[:2]]
    return post._replace(queue=longer(post.queue, needed[0]), out=longer(post.out, needed[1]))


def longer(messages: np.ndarray, size: int) -> np.ndarray:
    """Return the messages with room for `size`, or twice what there was."""
    if size <= len(messages):
        return messages
    more = np.empty(max(size, 2 * len(messages)), messages.dtype)
    more[: len(messages)] = messages
    return more


def wake_all(nodes: np.ndarray, slots: np.ndarray, post: Post, how: How) -> Post:
    """Wake up every node of this rank; return the post, which may have grown."""
    post = with_room(post, len(nodes))
    _wake_all(nodes, slots, post, how)
    return post


@njit
def _wake_all(nodes, slots, post, how):
    for x in range(nodes.size):
        _wake_up(nodes[x], slots, post, how)


def work_off(
    nodes: np.ndarray, slots: np.ndarray, post: Post, how: How, waiting: np.ndarray, following: np.ndarray
) -> tuple[Post, np.ndarray, np.ndarray]:
    """Respond to messages until none can be responded to without news from another rank.

    A message that has to wait goes to the end of the queue, which is over when all in it have to; or, ``by_node``,
    to a list that its node has until its state changes, in `waiting`, linked by `following`. Returns ``(post,
    waiting, following)``, which may have grown. (Messages may not be put off until the queue is empty: a report
    that waits for the node to have found would be overtaken by a new initiate.)
    """
    while True:
        lacking = _work_off(nodes, slots, post, how, waiting, following)
        if lacking == 0:
            return post, waiting, following
        post = with_room(post, lacking)
        if post.marks[_WAITING] == len(waiting):
            waiting, old = longer(waiting, len(waiting) + 1), following
            following = np.empty(len(waiting), np.int64)
            following[: len(old)] = old


@njit
def _work_off(nodes, slots, post, how, waiting, following):
    """Return 0, or for how many messages there has to be room before it can go on.

    Arrays are never replaced here: counting references to them would cost more than the work on a message.
    """
    marks = post.marks
    done, in_vain = np.int64(0), np.int64(0)
    while done < marks[_QUEUED] and in_vain < marks[_QUEUED] - done:
        # What has been responded to makes room before more is taken.
        if done > post.queue.size // 2:
            _drop(post, done)
            done = np.int64(0)
        message = post.queue[done]
        if not how.searching:
            # Whose turn it is soon is known, and where it lies is nowhere near.
            last = marks[_QUEUED] - 1
            prefetch_to_write(slots, post.queue[min(done + _SLOTS_AHEAD, last)].address)
            soon = slots[post.queue[min(done + _NODES_AHEAD, last)].address].node
            prefetch_to_write(nodes, soon)
        j = np.int64(message.address)
        if how.searching:
            j = np.int64(nodes[j].begin)
            while slots[j].id != message.edge:
                j += 1
        x = slots[j].node
        most = nodes[x].end - nodes[x].begin + 2 + marks[_WAITING]
        if (
            marks[_QUEUED] + most > post.queue.size
            or marks[_SENT] + most > post.out.size
            or marks[_WAITING] == waiting.size
        ):
            _drop(post, done)
            return most
        done += 1
        if _respond(nodes[x], slots, post, how, j, message):
            in_vain = 0
        elif how.by_node:
            _wait(nodes[x], marks, waiting, following, message)
        else:
            post.queue[marks[_QUEUED]] = message
            marks[_QUEUED] += 1
            in_vain += 1
        if how.by_node and nodes[x].woken and nodes[x].waiting >= 0:
            _retry(nodes[x], post, waiting, following)
        nodes[x].woken = 0
    _drop(post, done)
    return np.int64(0)


@njit
def _drop(post, done):
    """Forget the first `done` messages of the queue."""
    rest = post.marks[_QUEUED] - done
    for i in range(rest):
        post.queue[i] = post.queue[done + i]
    post.marks[_QUEUED] = rest


@njit(forceinline=True)
def _wait(node, marks, waiting, following, message):
    at = marks[_FREE]
    if at >= 0:
        marks[_FREE] = following[at]
    else:
        at = marks[_WAITING]
        marks[_WAITING] += 1
    waiting[at] = message
    following[at], node.waiting = node.waiting, at


@njit(forceinline=True)
def _retry(node, post, waiting, following):
    """Queue what waits at a node again."""
    at = np.int64(node.waiting)
    while at >= 0:
        post.queue[post.marks[_QUEUED]] = waiting[at]
        post.marks[_QUEUED] += 1
        after = following[at]
        following[at], post.marks[_FREE] = post.marks[_FREE], at
        at = after
    node.waiting = _NIL


@njit
def contract(source, target, inner, words, ids, node, taken):
    """Join, over and over, nodes whose lightest edge leads to a node of the same rank; return how many edges.

    `source` and, where `inner`, `target` are nodes; ``node[x]`` becomes the smallest node that `x` was joined with.
    The edges' ids go to `taken`.
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
