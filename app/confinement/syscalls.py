"""Which system calls a confined program may make. Data only; `seccomp` compiles it.

An allow-list: whatever is not here, calls invented later included, answers EPERM.
Names unknown to the installed libseccomp or to the processor are left out.
"""

import errno

_ALLOWED = """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close lseek
    fstat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd
    getdents64 getdents statfs fstatfs open openat chdir fchdir umask fsync fdatasync ftruncate
    fallocate fadvise64 mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2
    dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create1 epoll_create epoll_ctl
    epoll_wait epoll_pwait eventfd2 sendfile copy_file_range
    munmap mremap madvise brk msync mincore mprotect pkey_mprotect mlock munlock membarrier
    futex futex_waitv get_robust_list set_robust_list rseq set_tid_address
    sched_yield sched_getaffinity sched_getparam sched_getscheduler
    sched_get_priority_max sched_get_priority_min
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait
    sigaltstack restart_syscall pause alarm setitimer getitimer
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getpgid getsid getrlimit getrusage getpriority times uname sysinfo getcpu
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time timer_create
    timer_settime timer_gettime timer_delete timerfd_create timerfd_settime timerfd_gettime
    getrandom arch_prctl exit exit_group wait4 waitid
"""

ALLOWED = tuple(_ALLOWED.split())
"""Harmless, or judged by Landlock where they name a file (mkdir, unlink, rename and so on)."""

_BY_PATH = """
    open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
    getdents64 getdents statfs chdir fchdir mkdir mkdirat rmdir unlink unlinkat
    rename renameat renameat2
"""

BY_PATH = frozenset(_BY_PATH.split())
"""Those of them that name a file: a sealed process, which Landlock does not guard, may make none."""

REFUSED = {
    # ENOSYS, so that glibc falls back to the older call, whose arguments a filter can read:
    # the flags of clone3 lie in memory.
    "clone3": errno.ENOSYS,
    "futex_wake": errno.ENOSYS,
    "futex_wait": errno.ENOSYS,
    "futex_requeue": errno.ENOSYS,
    "set_mempolicy_home_node": errno.ENOSYS,
    "io_uring_setup": errno.ENOSYS,
    "userfaultfd": errno.ENOSYS,
    "memfd_secret": errno.ENOSYS,
    "landlock_create_ruleset": errno.ENOSYS,
}
"""Calls with an answer other than EPERM."""

CLONE_THREAD = 0x10000
CLONE_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag."""

MAP_SHARED, MAP_HUGETLB = 0x1, 0x40000
"""Neither may be asked for: shared mappings would outlive what limits count, and the pool of huge pages
is the whole machine's. MAP_SHARED_VALIDATE has the bit of MAP_SHARED."""

O_TRUNC = 0x200
"""Empties a file that is only read. Landlock judges that since ABI 3."""

F_SETFL, O_ASYNC = 4, 0x2000
"""F_SETFL is allowed without O_ASYNC: a descriptor must not send SIGIO to others."""

FCNTL_COMMANDS = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC."""

PRCTL_OPTIONS = (3, 15, 16, 21, 39, 0x53564D41)
"""Get dumpable, set and get the thread's name, get seccomp, get no_new_privs, name a mapping."""

IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""

OF_CUDA = ("get_mempolicy", "mbind")
"""Harmless calls that the driver's library makes of its own memory and threads, for profiles with a GPU."""

SIGNALS_TO_ITSELF = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
"""Allowed when the first argument is the caller's own pid."""
