#define _GNU_SOURCE
#include "CFork.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

static atomic_bool is_used;
static atomic_bool is_refused;
static atomic_bool has_told;

/// Memory that objects have for the calling thread, and the thread's number, before a fork.
typedef struct {
  struct {
    pid_t *words;
    size_t count;
  } areas[32];
  size_t count;
  pid_t number;
} thread_memory;
static _Thread_local thread_memory before;

/// Whether an object keeps the thread's number: libraries of the toolchain do, and code that uses
/// Swift's Mutex.
static bool keeps_numbers(const struct dl_phdr_info *object) {
  static const char *const names[] = {"libswift", "libFoundation", "libdispatch.so"};
  const char *slash = strrchr(object->dlpi_name, '/');
  const char *file = slash ? slash + 1 : object->dlpi_name;
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(file, names[i], strlen(names[i])) == 0) return true;
  // The object that contains this code, by whatever name.
  for (int i = 0; i < object->dlpi_phnum; i++) {
    uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if (object->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)&is_used >= start &&
        (uintptr_t)&is_used - start < object->dlpi_phdr[i].p_memsz)
      return true;
  }
  return false;
}

/// Adds the area of one loaded object.
static int add_area(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  if (!object->dlpi_tls_data || !keeps_numbers(object)) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    if (object->dlpi_phdr[i].p_type != PT_TLS ||
        before.count == sizeof before.areas / sizeof *before.areas)
      continue;
    before.areas[before.count].words = object->dlpi_tls_data;
    before.areas[before.count++].count = object->dlpi_phdr[i].p_memsz / sizeof(pid_t);
  }
  return 0;
}

/// Files that a child closes: each number plus 1, or 0.
static atomic_int closed_files[64];

static void exchange_file(int old, int new) {
  for (size_t i = 0; i < sizeof closed_files / sizeof *closed_files; i++) {
    int expected = old;
    if (atomic_compare_exchange_strong(&closed_files[i], &expected, new)) return;
  }
}

void cue_fork_close(int file) {
  exchange_file(0, file + 1);
}

void cue_fork_keep(int file) {
  exchange_file(file + 1, 0);
}

static void before_fork(void) {
  before.number = gettid();
  before.count = 0;
  dl_iterate_phdr(add_area, NULL);
}

/// Whether a word is the upper half of an address of memory in use, which can equal a thread's
/// number.
static bool is_in_address(const pid_t *word) {
  if ((uintptr_t)word % sizeof(uint64_t) == 0) return false;
  const uint64_t page = (uint64_t)getpagesize(), address = *(const uint64_t *)(word - 1);
  unsigned char residence;
  return mincore((void *)(uintptr_t)(address / page * page), 1, &residence) == 0 && residence & 1;
}

static void in_child(void) {
  // The copies of the old number are in the areas, and so is `before`.
  const thread_memory old = before;
  const pid_t number = gettid();
  for (size_t i = 0; i < old.count; i++)
    for (size_t word = 0; word < old.areas[i].count; word++) {
      pid_t *found = &old.areas[i].words[word];
      if (*found == old.number && !is_in_address(found)) *found = number;
    }
  if (is_used && !__libc_single_threaded) is_refused = true;
  for (size_t i = 0; i < sizeof closed_files / sizeof *closed_files; i++) {
    const int file = atomic_exchange(&closed_files[i], 0);
    if (file) close(file - 1);
  }
}

__attribute__((constructor)) static void register_handlers(void) {
  pthread_atfork(before_fork, NULL, in_child);
}

bool cue_fork_may_call(void) {
  if (!atomic_load_explicit(&is_used, memory_order_relaxed)) is_used = true;
  if (!atomic_load_explicit(&is_refused, memory_order_relaxed)) return true;
  static const char text[] =
      "cuejack: fork() made this process from one that has several threads and uses AudioToolbox: "
      "it must call exec before it uses AudioToolbox, and gets errors until then\n";
  if (!atomic_exchange(&has_told, true)) (void)!write(STDERR_FILENO, text, sizeof text - 1);
  return false;
}
