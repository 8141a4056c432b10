// The functions of OpenMP that FluidSynth calls, for one thread.
//
// FluidSynth runs reverberation and chorus in a parallel region. libgomp allocates a team of
// threads for each region, also for a team of one, and frees it again: in each block of 64 frames.
// One thread at a time renders with a synthesizer, so that a region needs neither a team nor a
// lock.
#define _GNU_SOURCE
#include "CSoundFont.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

static void parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
  (void)threads, (void)flags;
  body(data);
}

static void task(void (*body)(void *), void *data, void (*copy)(void *, void *), long size,
                 long alignment, bool runs, unsigned flags, void **depends, int priority) {
  (void)runs, (void)flags, (void)depends, (void)priority;
  if (!copy) {
    body(data);
    return;
  }
  char memory[size + alignment];
  char *copied = memory + alignment - (uintptr_t)memory % (uintptr_t)alignment;
  copy(copied, data);
  body(copied);
}

static bool is_first(void) {
  return true;
}

static void nothing(void) {}

static int one(void) {
  return 1;
}

static int zero(void) {
  return 0;
}

static const struct {
  const char *name;
  void *function;
} functions[] = {
    {"GOMP_parallel", parallel},      {"GOMP_task", task},
    {"GOMP_single_start", is_first},  {"GOMP_barrier", nothing},
    {"GOMP_critical_start", nothing}, {"GOMP_critical_end", nothing},
    {"omp_get_num_threads", one},     {"omp_get_thread_num", zero},
};

// The parts of a library that its dynamic section names.
struct tables {
  const ElfW(Sym) * symbols;
  const char *names;
  const ElfW(Rela) * relocations[2];
  size_t bytes[2];
};

// Puts the functions in the place of those that the library would call.
static void replace(const struct dl_phdr_info *library, const struct tables *tables) {
  for (int list = 0; list < 2; list++) {
    const ElfW(Rela) *const end =
        tables->relocations[list] + tables->bytes[list] / sizeof(ElfW(Rela));
    for (const ElfW(Rela) *next = tables->relocations[list]; next < end; next++) {
      const char *name = tables->names + tables->symbols[ELF64_R_SYM(next->r_info)].st_name;
      for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(name, functions[i].name)) continue;
        void **place = (void **)(library->dlpi_addr + next->r_offset);
        const uintptr_t size = (uintptr_t)getpagesize();
        void *page = (void *)((uintptr_t)place / size * size);
        // The table is read only once the library is loaded.
        if (mprotect(page, size, PROT_READ | PROT_WRITE)) continue;
        *place = functions[i].function;
        mprotect(page, size, PROT_READ);
      }
    }
  }
}

static int visit(struct dl_phdr_info *library, size_t size, void *data) {
  (void)size;
  if (!strstr(library->dlpi_name, data)) return 0;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    if (library->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    struct tables tables = {0};
    const ElfW(Dyn) *next = (const ElfW(Dyn) *)(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
    for (; next->d_tag != DT_NULL; next++) {
      switch (next->d_tag) {
      case DT_SYMTAB:
        tables.symbols = (const void *)next->d_un.d_ptr;
        break;
      case DT_STRTAB:
        tables.names = (const void *)next->d_un.d_ptr;
        break;
      case DT_RELA:
        tables.relocations[0] = (const void *)next->d_un.d_ptr;
        break;
      case DT_RELASZ:
        tables.bytes[0] = next->d_un.d_val;
        break;
      case DT_JMPREL:
        tables.relocations[1] = (const void *)next->d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        tables.bytes[1] = next->d_un.d_val;
        break;
      default:
        break;
      }
    }
    if (tables.symbols && tables.names) replace(library, &tables);
  }
  return 1;
}

void cue_leave_openmp(const char *library) {
#ifdef __LP64__
  // The functions must stay as long as FluidSynth does, which another plugin may hold.
  Dl_info own;
  if (!dladdr(functions, &own) || !dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE))
    return;
  dl_iterate_phdr(visit, (void *)library);
#endif
}
