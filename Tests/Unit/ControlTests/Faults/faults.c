// A library to preload that lets calls on files of a folder fail. The variable FAULTS_FOLDER names
// the folder, and FAULTS_FILE a file of three numbers of 32 bits that the test changes: how many
// calls are still to succeed (negative for all), the error number, and whether all later calls
// fail, too. A write that fails first writes a half.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int32_t *order;
static const char *folder;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULTS_FOLDER");
  const char *path = getenv("FAULTS_FILE");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *memory = mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) order = memory;
  close(file);
}

static int is_inside(const char *path) {
  return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_file_inside(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count < 0) return 0;
  path[count] = 0;
  return is_inside(path);
}

// Returns whether this call is to fail.
static int fails(int is_ours) {
  if (!order || !is_ours) return 0;
  // The test may change the order meanwhile: each call follows one.
  int32_t left = atomic_load(order), next;
  do {
    if (left < 0) return 0;
    next = left > 0 ? left - 1 : atomic_load(order + 2) ? 0 : -1;
  } while (!atomic_compare_exchange_weak(order, &left, next));
  if (left > 0) return 0;
  errno = atomic_load(order + 1);
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count) {
  if (order && atomic_load(order) >= 0 && fails(is_file_inside(file))) {
    int code = errno;
    if (count > 1) REAL(write)(file, bytes, count / 2);
    errno = code;
    return -1;
  }
  return REAL(write)(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  if (order && atomic_load(order) >= 0 && fails(is_file_inside(file))) return -1;
  return REAL(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return pwrite(file, bytes, count, offset);
}

int fsync(int file) {
  return fails(is_file_inside(file)) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file) {
  return fails(is_file_inside(file)) ? -1 : REAL(fdatasync)(file);
}

int ftruncate(int file, off_t size) {
  return fails(is_file_inside(file)) ? -1 : REAL(ftruncate)(file, size);
}

int renameat(int from, const char *old, int to, const char *new) {
  return fails(is_file_inside(to)) ? -1 : REAL(renameat)(from, old, to, new);
}

int rename(const char *old, const char *new) {
  return fails(is_inside(new)) ? -1 : REAL(rename)(old, new);
}

int mkdirat(int parent, const char *name, mode_t mode) {
  return fails(is_file_inside(parent)) ? -1 : REAL(mkdirat)(parent, name, mode);
}

int mkdir(const char *path, mode_t mode) {
  return fails(is_inside(path)) ? -1 : REAL(mkdir)(path, mode);
}
