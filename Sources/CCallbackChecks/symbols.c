#define _GNU_SOURCE
#include "CCallbackChecks.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/// A file in memory.
typedef struct image {
  const char *bytes;
  size_t size;
} image;

static const void *at(const image *image, size_t offset, size_t size) {
  return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

/// Copies the name of the function at `address`, which is one of the file's own addresses.
static void copy_name(const image *image, uintptr_t address, char *name, size_t name_size) {
  const ElfW(Ehdr) *header = at(image, 0, sizeof *header);
  if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_shentsize != sizeof(ElfW(Shdr)))
    return;
  const ElfW(Shdr) *sections = at(image, header->e_shoff, header->e_shnum * sizeof *sections);
  if (!sections) return;
  for (unsigned i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const ElfW(Shdr) *strings = &sections[sections[i].sh_link];
    const ElfW(Sym) *symbols = at(image, sections[i].sh_offset, sections[i].sh_size);
    const char *names = at(image, strings->sh_offset, strings->sh_size);
    if (!symbols || !names || strings->sh_size == 0 || names[strings->sh_size - 1]) continue;
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
      if (ELF64_ST_TYPE(symbols[j].st_info) != STT_FUNC || symbols[j].st_shndx == SHN_UNDEF ||
          symbols[j].st_name >= strings->sh_size || address < symbols[j].st_value ||
          address - symbols[j].st_value >= symbols[j].st_size)
        continue;
      snprintf(name, name_size, "%s", names + symbols[j].st_name);
      return;
    }
  }
}

bool cue_find_function(uintptr_t address, char *name, size_t name_size, char *object,
                       size_t object_size, uintptr_t *offset) {
  Dl_info found;
  struct link_map *map = NULL;
  if (!dladdr1((const void *)address, &found, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
  // The program itself has no name in the list of objects.
  bool is_program = !map->l_name || !*map->l_name;
  ssize_t length = is_program ? readlink("/proc/self/exe", object, object_size - 1) : -1;
  if (length >= 0)
    object[length] = 0;
  else
    snprintf(object, object_size, "%s", found.dli_fname ? found.dli_fname : "");
  *offset = address - map->l_addr;
  snprintf(name, name_size, "%s", found.dli_sname ? found.dli_sname : "");
  if (*name) return true;
  int file = open(is_program ? "/proc/self/exe" : object, O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > 0) {
    image image = {.size = (size_t)facts.st_size};
    void *bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      image.bytes = bytes;
      copy_name(&image, *offset, name, name_size);
      munmap(bytes, image.size);
    }
  }
  if (file >= 0) close(file);
  return true;
}
