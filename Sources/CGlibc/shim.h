// Functions of glibc that Swift does not see.
#include <spawn.h>

// glibc declares these only for _GNU_SOURCE, which Swift's importer does not define.
int memfd_create(const char *name, unsigned int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);

/// Has a program that is started keep no file open from number `first` on.
static inline int cue_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
