// The confinement of an isolated plugin's process. Landlock: kernel documentation,
// userspace-api/landlock.
#define _GNU_SOURCE
#include "cue_confinement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Later kernels have more than the headers of the oldest supported distribution.
struct ruleset {
  uint64_t files, network, scopes;
};
#define RIGHT_REFER        (UINT64_C(1) << 13)
#define RIGHT_TRUNCATE     (UINT64_C(1) << 14)
#define RIGHT_DEVICE_IOCTL (UINT64_C(1) << 15)
#define ALL_SCOPES         UINT64_C(3)
#define ALL_OF_VERSION_1   ((UINT64_C(1) << 13) - 1)

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING                                                                                    \
  (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                                 \
   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
   LANDLOCK_ACCESS_FS_MAKE_SYM | RIGHT_REFER | RIGHT_TRUNCATE)
// The rights that a rule for a file can have.
#define OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)

static int allow(int ruleset, const char *path, uint64_t rights) {
  const int file = open(path, O_PATH | O_CLOEXEC);
  // What is not there, or not for this user, needs no rule.
  if (file < 0) return 0;
  struct stat status;
  if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= OF_FILES;
  const struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = file};
  const long done = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int error = done < 0 ? errno : 0;
  close(file);
  return error;
}

static int allow_all(int ruleset, const char *const *paths, uint64_t rights) {
  for (; *paths; ++paths) {
    const int error = allow(ruleset, *paths, rights);
    if (error) return error;
  }
  return 0;
}

static int confine_files(const struct cue_confinement *confinement) {
  const long version =
      syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) return errno;
  struct ruleset handled = {.files = ALL_OF_VERSION_1};
  if (version >= 2) handled.files |= RIGHT_REFER;
  if (version >= 3) handled.files |= RIGHT_TRUNCATE;
  if (version >= 5) handled.files |= RIGHT_DEVICE_IOCTL;
  // Sockets are refused below, whatever the version.
  if (version >= 6) handled.scopes = ALL_SCOPES;
  const size_t bytes = version >= 6 ? sizeof handled : offsetof(struct ruleset, network);
  const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, bytes, 0);
  if (ruleset < 0) return errno;
  int error = allow_all(ruleset, confinement->readable, READING & handled.files);
  if (!error)
    error = allow_all(ruleset, confinement->writable, (READING | WRITING) & handled.files);
  if (!error) error = allow_all(ruleset, confinement->devices, OF_FILES & handled.files);
  if (!error && confinement->emptied)
    error = allow(ruleset, confinement->emptied, LANDLOCK_ACCESS_FS_REMOVE_DIR);
  if (!error && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) error = errno;
  close(ruleset);
  return error;
}

// Calls that are refused whatever their arguments are.
static const char *const refused[] = {
    // Other machines and programs. A datagram socket reaches others even if it is one of a pair.
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "mq_open",
    "mq_unlink", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl",
    "shmget", "shmat", "shmctl",
    // New processes and programs.
    "execve", "execveat", "fork", "vfork",
    // Other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "kcmp", "tkill", "pidfd_open", "pidfd_getfd", "pidfd_send_signal",
    // Files by other ways than opening them, and what Landlock does not cover: attributes.
    "open_by_handle_at", "name_to_handle_at", "chmod", "fchmodat", "fchmodat2", "chown", "lchown",
    "fchownat", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "setxattrat",
    "removexattrat", "file_setattr", "utime", "utimes", "futimesat", "truncate", "mknod", "mknodat",
    "chroot", "pivot_root", "mount", "umount", "umount2", "mount_setattr", "move_mount",
    "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "swapon", "swapoff",
    "quotactl", "quotactl_fd", "fanotify_init", "inotify_add_watch", "acct",
    // Parts of the kernel that this filter does not see into, or that only administrators need.
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open",
    "userfaultfd", "keyctl", "add_key", "request_key", "unshare", "setns", "personality",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "syslog", "sethostname",
    "setdomainname", "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime",
    "clock_adjtime64", "adjtimex", "vhangup", "vm86", "vm86old", "uselib"};

// Calls that the library of the oldest supported distribution has no names for. They have the same
// number on every architecture.
static const struct {
  const char *name;
  int number;
} recent[] = {{"fchmodat2", 452},
              {"setxattrat", 463},
              {"removexattrat", 466},
              {"open_tree_attr", 467},
              {"file_setattr", 469}};

static int number_of(const char *name) {
  for (size_t i = 0; i < sizeof recent / sizeof *recent; ++i)
    if (__builtin_strcmp(recent[i].name, name) == 0) return recent[i].number;
  return seccomp_syscall_resolve_name(name);
}

static int confine_calls(void) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return ENOMEM;
  const uint32_t no = SCMP_ACT_ERRNO(EPERM);
  int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  for (size_t i = 0; !error && i < sizeof refused / sizeof *refused; ++i) {
    const int number = number_of(refused[i]);
    // Not every architecture has every call.
    if (number != __NR_SCMP_ERROR) error = seccomp_rule_add(filter, no, number, 0);
  }
  // Threads, but no processes. Behind a pointer the filter sees nothing: the C library goes on with
  // clone.
  if (!error)
    error = seccomp_rule_add(filter, no, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  if (!error) error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  // Signals to itself, and limits of its own.
  const scmp_datum_t self = (scmp_datum_t)getpid();
  const int own[] = {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                     SCMP_SYS(rt_tgsigqueueinfo)};
  for (size_t i = 0; !error && i < sizeof own / sizeof *own; ++i)
    error = seccomp_rule_add(filter, no, own[i], 1, SCMP_A0(SCMP_CMP_NE, self));
  if (!error) error = seccomp_rule_add(filter, no, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0));
  // Times of open files, but not of files by path.
  if (!error) error = seccomp_rule_add(filter, no, SCMP_SYS(utimensat), 1, SCMP_A1(SCMP_CMP_NE, 0));
  // Keys into the user's terminal, which may be the standard error output.
  const unsigned long typing[] = {TIOCSTI, TIOCLINUX};
  for (size_t i = 0; !error && i < sizeof typing / sizeof *typing; ++i)
    error = seccomp_rule_add(filter, no, SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, typing[i]));
  if (!error) error = seccomp_load(filter);
  seccomp_release(filter);
  return -error;
}

// Landlock confines only the thread that asks for it, and those that it starts later.
static bool is_alone(void) {
  DIR *threads = opendir("/proc/self/task");
  if (!threads) return false;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(threads));)
    count += entry->d_name[0] != '.';
  closedir(threads);
  return count == 1;
}

int cue_confine(const struct cue_confinement *confinement) {
  if (!is_alone()) return EBUSY;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
  const int of_files = confine_files(confinement);
  const int of_calls = confine_calls();
  return of_files ? of_files : of_calls;
}
