// Why the hooks are written into the tables of loaded objects, and do not come from a library that
// stands before the C library: calls are bound before this library reads CUEJACK_CHECK_CALLBACKS.
//
// A library that libAudioToolbox.so depends on is searched after the C library, which the program
// names itself, so its malloc is never called. dlopen() changes no call that is bound, not even
// with RTLD_GLOBAL. LD_PRELOAD must be set before the program starts: the variable alone would
// report nothing, and a host that loads a plug-in, or has state, cannot start again. A preloaded
// library would also count the calls of this library's own code, which the tables leave out.
#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum {
  function_entry = R_X86_64_JUMP_SLOT,
  address_entry = R_X86_64_GLOB_DAT
};
#elif defined(__aarch64__)
enum {
  function_entry = R_AARCH64_JUMP_SLOT,
  address_entry = R_AARCH64_GLOB_DAT
};
#endif

/// The C library's functions as the loaded objects call them, by index of cue_hooks.
static uintptr_t functions[cue_checked_function_limit];

/// Number of objects that had been loaded when the hooks were last complete.
static unsigned long long complete_loads;

/// Writable memory of the process at the beginning of a run.
typedef struct memory_map {
  uintptr_t (*ranges)[2];
  size_t count;
} memory_map;

typedef struct run {
  memory_map map;
  unsigned long long loads;
  /// Set if an object was still being loaded.
  bool is_incomplete;
} run;

static memory_map writable_memory(void) {
  memory_map map = {NULL, 0};
  FILE *file = fopen("/proc/self/maps", "re");
  if (!file) return map;
  char line[4400];
  while (fgets(line, sizeof line, file)) {
    uintptr_t begin, end;
    char mode[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, mode) != 3 || mode[1] != 'w') continue;
    uintptr_t(*ranges)[2] = realloc(map.ranges, (map.count + 1) * sizeof *ranges);
    if (!ranges) break;
    map.ranges = ranges;
    map.ranges[map.count][0] = begin;
    map.ranges[map.count++][1] = end;
  }
  fclose(file);
  return map;
}

static bool is_writable(const memory_map *map, uintptr_t address) {
  for (size_t i = 0; i < map->count; i++)
    if (address >= map->ranges[i][0] && address < map->ranges[i][1]) return true;
  return false;
}

/// An object that is loaded.
typedef struct object {
  uintptr_t base, first, end;
  /// The pages that the dynamic linker makes read-only once it has filled them.
  uintptr_t protected_first, protected_end;
  const ElfW(Dyn) * dynamic;
  bool is_unprotected;
} object;

static object object_of(const struct dl_phdr_info *info) {
  object found = {.base = info->dlpi_addr, .first = UINTPTR_MAX};
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t begin = found.base + header->p_vaddr, end = begin + header->p_memsz;
    if (header->p_type == PT_LOAD) {
      if (begin < found.first) found.first = begin;
      if (end > found.end) found.end = end;
    } else if (header->p_type == PT_DYNAMIC) {
      found.dynamic = (const ElfW(Dyn) *)begin;
    } else if (header->p_type == PT_GNU_RELRO) {
      found.protected_first = begin & ~(page - 1);
      found.protected_end = end & ~(page - 1);
    }
  }
  return found;
}

static bool contains(const object *object, uintptr_t address) {
  return address >= object->first && address < object->end;
}

static bool is_protected(const object *object, uintptr_t address) {
  return address >= object->protected_first && address < object->protected_end;
}

static const void *table(const object *object, ElfW(Addr) address) {
  return (const void *)(address < object->base ? address + object->base : address);
}

/// Writes the hook `index` to an entry of an object's table, unless it calls another function of
/// this name.
static void write_hook(object *object, const memory_map *map, uintptr_t *entry, uint32_t index,
                       bool may_be_unresolved) {
  uintptr_t present = __atomic_load_n(entry, __ATOMIC_RELAXED);
  if (!functions[index] ||
      !(present == functions[index] || (may_be_unresolved && contains(object, present))))
    return;
  if (is_protected(object, (uintptr_t)entry)) {
    if (!object->is_unprotected &&
        mprotect((void *)object->protected_first, object->protected_end - object->protected_first,
                 PROT_READ | PROT_WRITE) != 0)
      return;
    object->is_unprotected = true;
  } else if (!is_writable(map, (uintptr_t)entry)) {
    return;
  }
  __atomic_store_n(entry, cue_hooks[index].hook, __ATOMIC_RELEASE);
}

static void write_hooks(object *object, const memory_map *map, const ElfW(Rela) * relocations,
                        size_t bytes, const ElfW(Sym) * symbols, const char *names) {
  for (size_t i = 0; i < bytes / sizeof *relocations; i++) {
    uint32_t type = (uint32_t)ELF64_R_TYPE(relocations[i].r_info);
    if (type != function_entry && type != address_entry) continue;
    const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(relocations[i].r_info)];
    const char *name = names + symbol->st_name;
    for (uint32_t index = 0; index < cue_hook_count; index++) {
      if (strcmp(name, cue_hooks[index].name) != 0) continue;
      // An entry for a function that was not called yet leads back into the object.
      bool may_be_unresolved = type == function_entry && symbol->st_shndx == SHN_UNDEF;
      write_hook(object, map, (uintptr_t *)(object->base + relocations[i].r_offset), index,
                 may_be_unresolved);
      break;
    }
  }
}

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  run *run = data;
  run->loads = info->dlpi_adds;
  object object = object_of(info);
  if (!object.dynamic || contains(&object, (uintptr_t)&complete_loads)) return 0;
  // The dynamic linker has not filled the tables yet. It would undo this, or fail.
  if (object.protected_first < object.protected_end &&
      is_writable(&run->map, object.protected_first)) {
    run->is_incomplete = true;
    return 0;
  }
  const ElfW(Rela) *calls = NULL, *others = NULL;
  size_t call_bytes = 0, other_bytes = 0;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  for (const ElfW(Dyn) *entry = object.dynamic; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_JMPREL) calls = table(&object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) call_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) others = table(&object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELASZ) other_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = table(&object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = table(&object, entry->d_un.d_ptr);
  }
  if (!symbols || !names) return 0;
  if (calls) write_hooks(&object, &run->map, calls, call_bytes, symbols, names);
  if (others) write_hooks(&object, &run->map, others, other_bytes, symbols, names);
  if (object.is_unprotected)
    mprotect((void *)object.protected_first, object.protected_end - object.protected_first,
             PROT_READ);
  return 0;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  *(unsigned long long *)data = info->dlpi_adds;
  return 1;
}

void cue_install_hooks(void) {
  unsigned long long loads = 0;
  dl_iterate_phdr(count_loads, &loads);
  if (loads == complete_loads) return;
  if (complete_loads == 0) {
    for (uint32_t i = 0; i < cue_hook_count; i++)
      functions[i] = (uintptr_t)dlsym(RTLD_DEFAULT, cue_hooks[i].name);
    // The hooks must stay when the library is closed.
    Dl_info own;
    if (dladdr(&complete_loads, &own))
      dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  run run = {.map = writable_memory()};
  dl_iterate_phdr(visit, &run);
  free(run.map.ranges);
  if (!run.is_incomplete && run.loads == loads) complete_loads = loads;
}

const char *cue_hooked_function(uint32_t index) {
  return index < cue_hook_count ? cue_hooks[index].name : NULL;
}
