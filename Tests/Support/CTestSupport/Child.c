#define _GNU_SOURCE // pipe2, processor sets
#include "CTestSupport.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cue_child {
  const char *path, *folder, *output, *errors;
  char *const *arguments;
  char *const *environment;
  int kept;

  pthread_t keeper;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pid_t pid;
  int error;
  bool started, ended;
  int status;
  double cpu_seconds;
};

// Runs in the child between fork and exec: no allocation, no lock.
static void become(const cue_child *child, pid_t parent, int report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  int input = open("/dev/null", O_RDONLY);
  int output = open(child->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
  int errors = open(child->errors, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (input < 0 || output < 0 || errors < 0) goto failed;
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) goto failed;
  if (child->folder && chdir(child->folder) < 0) goto failed;
  // exec closes all other descriptors. CLOSE_RANGE_CLOEXEC is 4.
  if (syscall(SYS_close_range, 3u, ~0u, 4u) < 0)
    for (int each = 3; each < 1024; each++)
      fcntl(each, F_SETFD, FD_CLOEXEC);
  if (child->kept >= 0) fcntl(child->kept, F_SETFD, 0);
  execve(child->path, child->arguments, child->environment);
failed:;
  int error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

// Runs a child's thread. Linux signals the death of the thread that forked, not of its process, so
// the thread must live as long as the child.
static void *keep(void *argument) {
  cue_child *child = argument;
  int report[2];
  int error = 0;
  pid_t pid = -1;
  pid_t parent = getpid();
  if (pipe2(report, O_CLOEXEC) < 0) {
    error = errno;
  } else {
    pid = fork();
    if (pid == 0) become(child, parent, report[1]);
    if (pid < 0) error = errno;
    close(report[1]);
    ssize_t got;
    do
      got = pid < 0 ? 0 : read(report[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(report[0]);
  }
  int status = 0;
  if (error && pid > 0) waitpid(pid, &status, 0);

  pthread_mutex_lock(&child->lock);
  child->pid = pid;
  child->error = error;
  child->started = true;
  child->ended = error != 0;
  pthread_cond_broadcast(&child->changed);
  pthread_mutex_unlock(&child->lock);
  if (error) return NULL;

  // Reap the child under the lock, so that no signal reaches a process that reuses its identifier.
  siginfo_t information;
  while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    ;
  pthread_mutex_lock(&child->lock);
  struct rusage usage = {0};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
    ;
  child->status = status;
  child->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  child->ended = true;
  pthread_cond_broadcast(&child->changed);
  pthread_mutex_unlock(&child->lock);
  return NULL;
}

cue_child *cue_child_start(const char *path, char *const *arguments, char *const *environment,
                           const char *folder, const char *output, const char *errors, int kept) {
  cue_child *child = calloc(1, sizeof *child);
  if (!child) return NULL;
  child->path = path;
  child->arguments = arguments;
  child->environment = environment;
  child->folder = folder;
  child->output = output;
  child->errors = errors;
  child->kept = kept;
  pthread_mutex_init(&child->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&child->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  int error = pthread_create(&child->keeper, NULL, keep, child);
  if (error) {
    free(child);
    errno = error;
    return NULL;
  }
  pthread_mutex_lock(&child->lock);
  while (!child->started)
    pthread_cond_wait(&child->changed, &child->lock);
  error = child->error;
  pthread_mutex_unlock(&child->lock);
  // The caller's strings need not live any longer.
  child->path = child->folder = child->output = child->errors = NULL;
  child->arguments = child->environment = NULL;
  if (error) {
    cue_child_free(child);
    errno = error;
    return NULL;
  }
  return child;
}

pid_t cue_child_pid(const cue_child *child) {
  return child->pid;
}

bool cue_child_wait(cue_child *child, double seconds, int *status) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  double whole = (double)end.tv_nsec / 1e9 + seconds;
  end.tv_sec += (time_t)whole;
  end.tv_nsec = (long)((whole - (double)(time_t)whole) * 1e9);
  pthread_mutex_lock(&child->lock);
  while (!child->ended && pthread_cond_timedwait(&child->changed, &child->lock, &end) != ETIMEDOUT)
    ;
  bool ended = child->ended;
  if (ended && status) *status = child->status;
  pthread_mutex_unlock(&child->lock);
  return ended;
}

double cue_child_cpu_seconds(cue_child *child) {
  pthread_mutex_lock(&child->lock);
  double seconds = child->cpu_seconds;
  pthread_mutex_unlock(&child->lock);
  return seconds;
}

void cue_child_signal(cue_child *child, int signal) {
  pthread_mutex_lock(&child->lock);
  if (!child->ended) kill(child->pid, signal);
  pthread_mutex_unlock(&child->lock);
}

void cue_child_free(cue_child *child) {
  if (!child) return;
  cue_child_signal(child, SIGKILL);
  pthread_join(child->keeper, NULL);
  pthread_cond_destroy(&child->changed);
  pthread_mutex_destroy(&child->lock);
  free(child);
}

int cue_lock_file(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

void cue_run_on_processor(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET((size_t)processor, &only);
  pthread_setaffinity_np(pthread_self(), sizeof only, &only);
}

int cue_terminal_open(unsigned short columns, unsigned short rows, char *name, size_t size) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal < 0) return -1;
  struct winsize window = {.ws_row = rows, .ws_col = columns};
  if (grantpt(terminal) || unlockpt(terminal) || ptsname_r(terminal, name, size) ||
      ioctl(terminal, TIOCSWINSZ, &window)) {
    close(terminal);
    return -1;
  }
  return terminal;
}

void cue_terminal_resize(int terminal, unsigned short columns, unsigned short rows) {
  struct winsize window = {.ws_row = rows, .ws_col = columns};
  ioctl(terminal, TIOCSWINSZ, &window);
}
