"""A SLURM of two nodes on this machine: Debian's programs, started directly, with all files in one folder.

It uses no systemd, no cgroups, no accounting and nothing under /etc. Jobs find this SLURM by wrappers of its commands
on their PATH, since Snakemake's executor removes `SLURM_CONF` from their environment. Its daemons have the longest
possible timeouts: on a busy machine, SLURM's default limits declare a slow node dead.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("n1", "n2")
CPUS = 2
# Timeout in seconds for anything that takes a moment on an idle machine.
PATIENCE = 300
# Only Snakemake queries jobs by name; while the file `hold` exists, it gets no answer.
WRAPPER = """\
#!/bin/sh
case "{command} $*" in "squeue "*"--name "*)
    for _ in $(seq 6000); do
        [ -e {folder}/hold ] || break
        touch {folder}/held
        sleep 0.1
    done ;;
esac
SLURM_CONF={folder}/slurm.conf exec {program} "$@"
"""

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
MpiDefault=pmi2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MinJobAge=3600
ReturnToService=2
KillWait=5
SlurmdTimeout={patience}
BatchStartTimeout={patience}
UnkillableStepTimeout={patience}
MessageTimeout=100
TCPTimeout=60
OverTimeLimit=0
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs={cpus} RealMemory=4000 Gres=gpu:1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs={cpus} RealMemory=4000
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=60
PartitionName=gpu Nodes=n1 MaxTime=60
"""


def missing() -> str | None:
    """Return why no SLURM can be started here, or None; install missing packages where that is allowed."""
    if os.geteuid() != 0:
        return "starting a SLURM takes root"
    if absent := _absent():
        apt = shutil.which("apt-get")
        if apt is None:
            return (
                f"{', '.join(absent)}: not installed, and there is no apt-get to install {' '.join(PACKAGES)}"
            )
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        patient = [apt, "-qq", "-o", f"DPkg::Lock::Timeout={PATIENCE}"]
        install = [*patient, "install", "-y", "--no-install-recommends", *PACKAGES]
        for command in (install, [*patient, "update"], install):
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if not _absent():
                break
        else:
            return f"{', '.join(PACKAGES)} cannot be installed: {done.stderr.strip()[-200:]}"
    return None


def _absent() -> list[str]:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in (*DAEMONS, *COMMANDS) if shutil.which(name, path=path) is None]


@dataclass(frozen=True)
class Job:
    """A job as the scheduler describes it."""

    id: str
    state: str
    partition: str
    nodes: str
    comment: str
    cpus: int
    node_count: int
    shared: str


class Slurm:
    """The running daemons; only `stop` ends them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.processes: dict[str, subprocess.Popen] = {}
        folder.mkdir(parents=True)
        # munged refuses to start if other users can write to the folder of its files.
        folder.chmod(0o755)
        for name in ("state", "bin", *NODES):
            (folder / name).mkdir()
        self._write()

    def _write(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        port, *ports = _free_ports(1 + len(NODES))
        values = dict(zip(NODES, ports), port=port, host=socket.gethostname(), folder=self.folder)
        values |= {"cpus": CPUS, "patience": PATIENCE}
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        # A device that does nothing: enough to see which job is given a GPU.
        device = self.folder / "gpu0"
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"NodeName=n1 Name=gpu File={device}\n")
        for command in COMMANDS:
            wrapper = self.folder / "bin" / command
            program = shutil.which(command)
            wrapper.write_text(WRAPPER.format(command=command, folder=self.folder, program=program))
            wrapper.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which commands find this SLURM and no other."""
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> None:
        """Start all daemons and wait until both nodes take jobs."""
        socket_file = self.folder / "munge.socket"
        names = {
            "socket": socket_file,
            "key-file": "munge.key",
            "pid-file": "munge.pid",
            "seed-file": "munge.seed",
        }
        options = [f"--{name}={self.folder / file}" for name, file in names.items()]
        self._spawn("munged", "--foreground", "--force", *options, f"--log-file={self.folder}/munge.log")
        until(socket_file.exists, "munged has no socket")
        self._spawn("slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))
        for node in NODES:
            self.start_node(node)
        self._await_idle_nodes()

    def start_node(self, node: str) -> None:
        """Start the daemon of one node."""
        self._spawn("slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf"), name=node)

    def kill_node(self, node: str) -> None:
        """Make a node disappear, with all its processes, and mark it as down."""
        lost = self.processes.pop(node)
        lost.kill()
        lost.wait()
        # Stop all before killing any: a process that outlives the others would report an ordinary failure of the job.
        stopped: set[psutil.Process] = set()
        while new := set(self.processes_on(node)) - stopped:
            _signal(new, signal.SIGSTOP)
            stopped |= new
        _signal(stopped, signal.SIGKILL)
        self.command("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=disappeared")

    def processes_on(self, node: str) -> list[psutil.Process]:
        """Return the processes that this SLURM started on a node."""
        spool = str(self.folder / node)
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.name().startswith("slurmstepd"):
                    if any(str(c.laddr).startswith(spool) for c in process.net_connections(kind="unix")):
                        found.append(process)
                elif process.environ().get("SLURMD_NODENAME") == node and self._is_ours(process):
                    found.append(process)
        return found

    def _is_ours(self, process: psutil.Process) -> bool:
        return str(self.folder / "bin") in process.environ().get("PATH", "")

    def command(self, *arguments: str) -> str:
        """Run a command of this SLURM; return its output."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            arguments, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout

    def states(self) -> dict[str, str]:
        """Return the state of each node."""
        try:
            lines = self.command("sinfo", "-h", "-N", "-p", "cpu", "-o", "%N %T").split("\n")
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return {}
        return dict(line.split() for line in lines if line)

    def jobs(self) -> list[Job]:
        """Return every job that the scheduler remembers, oldest first."""
        out = self.command("squeue", "-h", "-t", "all", "-S", "i", "-o", "%i|%T|%P|%N|%k|%C|%D|%h")
        rows = [line.split("|") for line in out.splitlines()]
        return [Job(*row[:5], int(row[5]), int(row[6]), *row[7:]) for row in rows]

    def expire(self, job: str) -> None:
        """Let a job reach its time limit."""

        def accepted() -> bool:
            try:
                self.command("scontrol", "update", f"JobId={job}", "EndTime=now+1")
            except subprocess.CalledProcessError:
                # The end time had already passed when the scheduler received it.
                return False
            return True

        until(accepted, f"the end time of job {job} is not accepted")

    @contextlib.contextmanager
    def without_answers(self) -> Iterator[None]:
        """Leave Snakemake's query for the states of its jobs unanswered inside this context."""
        hold, held = self.folder / "hold", self.folder / "held"
        held.unlink(missing_ok=True)
        hold.touch()
        try:
            until(held.exists, "Snakemake does not query its jobs")
            yield
        finally:
            hold.unlink()

    def await_no_jobs(self) -> None:
        """Wait until no job is on a node."""
        until(
            lambda: not self.command("squeue", "-h", "-t", "running,completing", "-o", "%i"),
            "jobs are still running",
        )

    def clean(self) -> None:
        """End all jobs that a test has left and restart the nodes that it killed."""
        self.command("scancel", "--user=root")
        for node in NODES:
            if node not in self.processes:
                self.start_node(node)
            elif "drain" in self.states().get(node, ""):
                self.resume(node)
        self.await_no_jobs()
        self._await_idle_nodes()

    def drain(self, node: str) -> None:
        """Let a node take no more jobs."""
        self.command("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=maintenance")

    def resume(self, node: str) -> None:
        """Let a drained node take jobs again."""
        self.command("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def describe_processes(self) -> str:
        """Return a line for each process of jobs: its node, itself, its parent and its state, for a failure message."""
        lines = []
        for node in NODES:
            for process in self.processes_on(node):
                with contextlib.suppress(psutil.Error):
                    parent = process.parent()
                    lines.append(
                        f"{node}: {process.pid} {process.status()} {' '.join(process.cmdline())}; "
                        f"parent {parent.pid if parent else 0} {parent.name() if parent else ''}"
                    )
        return "\n".join(lines)

    def _await_idle_nodes(self) -> None:
        def idle() -> bool:
            if ended := [name for name, process in self.processes.items() if process.poll() is not None]:
                raise RuntimeError(f"{', '.join(ended)} ended\n{self.logs()}")
            return self.states() == dict.fromkeys(NODES, "idle")

        until(idle, lambda: f"the nodes do not come up: {self.states()}\n{self.logs()}")

    def stop(self) -> None:
        """End every daemon that was started here, and the processes that its jobs left behind."""
        with contextlib.suppress(subprocess.SubprocessError, TimeoutError):
            self.command("scancel", "--user=root")
            self.await_no_jobs()
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        for node in NODES:
            _signal(self.processes_on(node), signal.SIGKILL)

    def logs(self) -> str:
        """Return the ends of the daemons' logs, for a failure message."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"== {file.name}\n{file.read_text()[-2000:]}" for file in files)

    def _spawn(self, program: str, *arguments: str, name: str | None = None) -> None:
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        with (self.folder / f"{name or program}.out").open("ab") as out:
            self.processes[name or program] = subprocess.Popen(
                [shutil.which(program, path=path) or program, *arguments],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on and that the system gives to no connection while a daemon is down."""
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    candidates = random.SystemRandom().sample(range(first // 2, first), k=100)
    with contextlib.ExitStack() as stack:
        found = []
        for port in candidates:
            s = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                s.bind(("127.0.0.1", port))
                found.append(port)
        return found[:count]


def until(condition: Callable[[], object], message: str | Callable[[], str], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; raise TimeoutError with `message` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(message if isinstance(message, str) else message())
        # Most conditions start a command or look at every process.
        time.sleep(0.3)
