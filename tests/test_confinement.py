"""A confined process can compute and read Python's own files; everything else is refused.

Each test confines a real process: a fresh interpreter builds the jail, forks, and enters it.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

LAYERS = [
    "descriptors",
    "environment",
    "courtesy",
    "rlimits",
    "lifetime",
    "privileges",
    "landlock",
    "seccomp",
]

DRIVER = """
import json, os, sys
from tensor_anatomy.confinement import Confinee, NotConfined, build, try_once

options = json.loads(sys.argv[1])
exec(options["before"])
try:
    jail = build(options["profile"], options["must_stay_readable"])
    if options["broken"]:
        jail = jail.with_broken(options["broken"])
    if options["trial"]:
        try_once(jail)
except NotConfined as fault:
    print(json.dumps({"not_confined": fault.layer, "fault": str(fault)}))
    sys.exit()
reading, writing = os.pipe()
zygote_pid = os.getpid() + options["parents_away"]
pid = os.fork()
if pid == 0:
    null = os.open("/dev/null", os.O_RDWR)
    answer = {}
    try:
        jail.enter(Confinee(null=null, output=null, result=writing, zygote_pid=zygote_pid, slot=0,
                            memory_bytes=options["memory_bytes"], cpu_s=5))
        result = 3
    except NotConfined as fault:
        answer, result = {"not_confined": fault.layer}, writing
        try:
            os.fstat(3)
            os.write(3, b"")
            result = 3
        except OSError:
            pass
    else:
        scope = {}
        try:
            exec(options["code"], scope)
            answer = {"value": scope.get("value")}
        except BaseException as e:
            answer = {"raised": type(e).__name__}
    os.write(result, json.dumps(answer).encode())
    os._exit(0)
os.close(writing)
with os.fdopen(reading) as pipe:
    text = pipe.read()
status = os.waitpid(pid, 0)[1]
print(text or json.dumps({"exit": os.waitstatus_to_exitcode(status)}))
"""


def confined(code: str = "value = 1", environment: dict[str, str] | None = None, **options: Any) -> Any:
    """What a confined process answers: its `value`, what it raised, or why it was not confined."""
    told = {
        "code": textwrap.dedent(code),
        "before": "",
        "must_stay_readable": [os.__file__],
        "broken": None,
        "trial": False,
        "profile": "strict",
        "parents_away": 0,
        "memory_bytes": 64 << 20,
    } | options
    answer = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(told)],
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def test_a_confined_process_computes() -> None:
    assert confined("value = sum(range(10))") == {"value": 45}


def test_libraries_can_still_be_imported() -> None:
    assert confined("import colorsys, decimal\nvalue = str(decimal.Decimal(1) / 4)") == {"value": "0.25"}


def test_threads_can_still_be_started() -> None:
    code = """
        import threading
        seen = []
        thread = threading.Thread(target=seen.append, args=(7,))
        thread.start()
        thread.join()
        value = seen
    """
    assert confined(code) == {"value": [7]}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("open('/etc/passwd')", id="read a file of the system"),
        pytest.param("open('/proc/self/environ')", id="read its own environment"),
        pytest.param("import os; open(f'/proc/{os.getppid()}/maps')", id="look into its parent"),
        pytest.param("import os; os.listdir('/')", id="list the root"),
        pytest.param("open('/tmp/left-behind', 'w')", id="write a file"),
        pytest.param("import os; os.mkdir('/tmp/left-behind')", id="make a directory"),
        pytest.param("import os; os.symlink('/etc', '/tmp/left-behind')", id="make a link"),
        pytest.param("import os; os.chmod('/dev/null', 0o666)", id="change permissions"),
        pytest.param("import os; os.utime('/dev/null')", id="change times"),
        pytest.param("import os; os.truncate('/dev/null', 0)", id="truncate"),
        pytest.param("import socket; socket.socket()", id="open a TCP socket"),
        pytest.param("import socket; socket.socket(type=socket.SOCK_DGRAM)", id="open a UDP socket"),
        pytest.param("import socket; socket.socket(socket.AF_UNIX)", id="open a Unix socket"),
        pytest.param("import socket; socket.socketpair()", id="open a pair of sockets"),
        pytest.param("import os; os.fork()", id="fork"),
        pytest.param("import os; os.execv('/bin/true', ['true'])", id="exec"),
        pytest.param("import os; os.posix_spawn('/bin/true', ['true'], {})", id="spawn"),
        pytest.param("import subprocess; subprocess.run(['/bin/true'])", id="run a command"),
        pytest.param("import os; os.kill(os.getppid(), 0)", id="signal its parent"),
        pytest.param("import os; os.kill(1, 0)", id="signal init"),
        pytest.param("import os; os.kill(-1, 0)", id="signal everybody"),
        pytest.param("import os; os.pidfd_open(os.getppid())", id="get a handle of its parent"),
        pytest.param("import os; os.setuid(0); os.setgroups([])", id="change its user"),
        pytest.param("import os; os.memfd_create('x')", id="make a file in memory"),
        pytest.param("import os; os.nice(-5)", id="run more urgently"),
        pytest.param(
            "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
            id="set its parent's limits",
        ),
        pytest.param(
            "import fcntl; fcntl.fcntl(1, fcntl.F_SETOWN, 1)", id="have a descriptor signal another process"
        ),
        pytest.param("import mmap; mmap.mmap(-1, 4096)", id="share memory"),
    ],
)
def test_a_confined_process_may_not(code: str) -> None:
    assert confined(code) == {"raised": "PermissionError"}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("open(os.__file__)", id="read Python's own files"),
        pytest.param("os.stat('/')", id="ask whether a file exists"),
        pytest.param("os.access('/etc', os.R_OK)\nos.readlink('/proc/self/exe')", id="read a link"),
        pytest.param("os.listdir('.')", id="list its folder"),
        pytest.param("os.chdir('/')", id="change its folder"),
        pytest.param("open('/dev/null', 'w')", id="open even /dev/null"),
        pytest.param("os.unlink('/tmp/x')", id="delete"),
        pytest.param("os.rename('/tmp/x', '/tmp/y')", id="rename"),
    ],
)
def test_a_sealed_process_names_no_file(code: str) -> None:
    assert confined(f"import os\n{code}", profile="sealed") == {"raised": "PermissionError"}


def test_a_sealed_process_computes_and_starts_threads() -> None:
    code = "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\nvalue = 2 ** 10"
    assert confined(code, profile="sealed") == {"value": 1024}


def test_truncation_is_refused_where_landlock_does_not_judge_it_yet() -> None:
    old = "from landlockpy import ruleset\nruleset._syscall.abi_version = lambda: 2"
    code = "import os\nos.open(os.__file__, os.O_RDONLY | os.O_TRUNC)"
    size = os.stat(os.__file__).st_size
    assert confined(code, before=old) == {"raised": "PermissionError"}
    assert confined(code) == {"raised": "PermissionError"}
    assert os.stat(os.__file__).st_size == size
    assert confined("value = len(open(__import__('os').__file__).read()) > 9", before=old) == {"value": True}


def test_huge_pages_are_not_taken_from_the_machines_pool() -> None:
    code = "import mmap; mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)"
    assert confined(code) == {"raised": "PermissionError"}


def test_a_file_that_anybody_may_delete_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    tmp_path.chmod(0o777)
    assert confined(f"import os; os.unlink({str(file)!r})") == {"raised": "PermissionError"}
    assert file.exists()


def test_a_confined_process_cannot_set_its_own_limits() -> None:
    # How the resource module words EPERM.
    code = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    assert confined(code) == {"raised": "ValueError"}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls are x86-64's")
@pytest.mark.parametrize(
    ("call", "number", "answer"),
    [
        ("ptrace", 101, 1),
        ("unshare", 272, 1),
        ("mount", 165, 1),
        ("bpf", 321, 1),
        ("keyctl", 250, 1),
        ("shmget", 29, 1),
        ("process_vm_readv", 310, 1),
        ("io_uring_setup", 425, 38),
        ("userfaultfd", 323, 38),
        ("clone3", 435, 38),
        ("getpid as an x32 call", 0x40000000 + 39, 1),
        ("a call not invented yet", 999, 1),
    ],
)
def test_the_kernel_refuses(call: str, number: int, answer: int) -> None:
    code = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.syscall({number}, 0, 0, 0, 0, 0) == -1
        value = ctypes.get_errno()
    """
    assert confined(code) == {"value": answer}, call


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the machine code is x86-64's")
def test_a_call_of_a_32_bit_program_ends_the_process() -> None:
    code = """
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
        page.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")  # getpid by int 0x80
        value = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    """
    # SIGSYS; SIGSEGV where the kernel has no such programs
    assert confined(code)["exit"] in (-signal.SIGSYS, -signal.SIGSEGV)


def test_memory_is_bounded_whichever_way_it_is_asked_for() -> None:
    code = """
        import threading
        value = []
        for ask in (lambda: bytearray(80 << 20), lambda: [bytes(1 << 20) for _ in range(80)]):
            try:
                ask()
            except MemoryError:
                value.append("refused")
        value.append(len(bytearray(32 << 20)) >> 20)
    """
    assert confined(code) == {"value": ["refused", "refused", 32]}


def test_only_four_descriptors_are_open() -> None:
    code = """
        import os
        value = []
        for descriptor in range(2000):
            try:
                os.fstat(descriptor)
                value.append(descriptor)
            except OSError:
                pass
    """
    opened = "import os\nkept = [os.open('/etc/passwd', os.O_RDONLY) for _ in range(20)]"
    assert confined(code, before=opened) == {"value": [0, 1, 2, 3]}


def test_the_environment_holds_nothing_of_the_server() -> None:
    answer = confined("import os; value = dict(os.environ)", environment={"SECRET_TOKEN": "hunter2"})
    assert set(answer["value"]) == {"PATH", "HOME", "LANG", "TORCHINDUCTOR_CACHE_DIR"}
    assert "hunter2" not in str(answer)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_that_fails_lets_nothing_run(layer: str) -> None:
    assert confined("value = 'ran'", broken=layer) == {"not_confined": layer}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_trial_finds_a_layer_that_fails(layer: str) -> None:
    answer = confined("value = 'ran'", broken=layer, trial=True)
    assert answer["not_confined"] == layer
    assert "broken on purpose" in answer["fault"]


def test_the_trial_finds_a_layer_that_does_nothing() -> None:
    lax = "from tensor_anatomy.confinement import seccomp; seccomp.SyscallAllowList.enter = lambda *_: None"
    answer = confined("value = 'ran'", before=lax, trial=True)
    assert answer["not_confined"] == "trial"
    assert "open a UDP socket" in answer["fault"]


def test_without_libseccomp_nothing_runs() -> None:
    answer = confined("value = 'ran'", before="sys.modules['pyseccomp'] = None")
    assert answer["not_confined"] == "seccomp"
    assert "libseccomp is not installed" in answer["fault"]


def test_without_landlock_nothing_runs() -> None:
    answer = confined(
        "value = 'ran'",
        before="import landlockpy\n"
        "def missing(**_): raise OSError(38, 'Function not implemented')\n"
        "landlockpy.Ruleset = missing",
    )
    assert answer["not_confined"] == "landlock"


def test_a_child_whose_parent_has_gone_does_not_run() -> None:
    assert confined("value = 'ran'", parents_away=1) == {"not_confined": "lifetime"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
def test_root_gives_a_run_a_user_of_its_own() -> None:
    assert confined("import os; value = os.getresuid()", must_stay_readable=[]) == {"value": [64001] * 3}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
def test_root_stays_but_without_powers_where_python_would_be_unreadable(tmp_path: Path) -> None:
    private = tmp_path / "python.py"
    private.touch(mode=0o600)
    # capget(2) is refused in there, so what is left of root's powers is asked for before the last layer.
    before = """
from tensor_anatomy.confinement import seccomp
def look(self, child):
    with open("/proc/self/status") as status:
        os.environ["CAPABILITIES"] = next(line.split()[1] for line in status if line.startswith("CapEff"))
seccomp.SyscallAllowList.enter = look
from tensor_anatomy.confinement import landlock
landlock.ReadOnlyFiles.enter = lambda self, child: None
"""
    code = "import os; value = [os.getuid(), int(os.environ['CAPABILITIES'], 16)]"
    assert confined(code, before=before, must_stay_readable=[str(private)]) == {"value": [0, 0]}
