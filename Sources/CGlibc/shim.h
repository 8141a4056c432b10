// Functions that glibc declares only for _GNU_SOURCE, which Swift's importer does not define. No
// header of glibc is included: its types would then belong to this module as well.

/// memfd_create.
int cue_memfd_create(const char *name, unsigned int flags) __asm__("memfd_create");

/// posix_spawn_file_actions_addclosefrom_np: makes a program that is started keep no file open from
/// number `first` on.
int cue_spawn_close_from(void *actions,
                         int first) __asm__("posix_spawn_file_actions_addclosefrom_np");
