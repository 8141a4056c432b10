// Functions that glibc declares only for _GNU_SOURCE or _XOPEN_SOURCE, which Swift's importer does
// not define. No header of glibc is included: its types would then belong to this module as well.

/// memfd_create.
int cue_memfd_create(const char *name, unsigned int flags) __asm__("memfd_create");

/// posix_spawn_file_actions_addclosefrom_np: makes a program that is started keep no file open from
/// number `first` on.
int cue_spawn_close_from(void *actions,
                         int first) __asm__("posix_spawn_file_actions_addclosefrom_np");

/// renameat2: renames a file; with the flag 1, not over another one.
int cue_renameat2(int folder, const char *name, int other, const char *new_name,
                  unsigned int flags) __asm__("renameat2");
/// mlock2: locks memory; with `flags` 1 only as it is touched.
int cue_lock(const void *memory, unsigned long bytes, int flags) __asm__("mlock2");

/// fallocate: with the flags 1 and 2, gives a part of a file back to the file system; it becomes
/// zeros.
int cue_allocate(int file, int flags, long offset, long bytes) __asm__("fallocate");

/// wcwidth: the columns of a character on a terminal, by the thread's locale; -1 if it is not
/// printable.
int cue_wcwidth(int character) __asm__("wcwidth");

/// strverscmp: compares two names; numbers in them count as numbers.
int cue_strverscmp(const char *a, const char *b) __asm__("strverscmp");

extern char *cue_invocation_name __asm__("program_invocation_short_name");

/// program_invocation_short_name: the file name under which the program was started.
static inline const char *cue_program_name(void) {
  return cue_invocation_name;
}

/// pthread_setname_np: gives a thread a name of at most 15 bytes.
int cue_thread_set_name(unsigned long thread, const char *name) __asm__("pthread_setname_np");

/// dladdr: stores the file of the library or program that an address belongs to, and three more
/// words.
int cue_dladdr(const void *address, const void *information[4]) __asm__("dladdr");

extern void *cue_output __asm__("stdout");
int cue_fflush(void *file) __asm__("fflush");
int cue_ferror(void *file) __asm__("ferror");

/// Writes out what this process has printed to `stdout` so far; 0 unless that fails or has failed
/// before.
static inline int cue_flush_output(void) {
  return cue_fflush(cue_output) != 0 || cue_ferror(cue_output);
}

/// sched_getaffinity: stores a bit for each processor on which a process may run; 0 is this one.
int cue_processors(int process, unsigned long bytes, void *set) __asm__("sched_getaffinity");

/// ntp_gettimex: stores the time in seconds and microseconds, the greatest and the estimated error
/// in microseconds, TAI's offset in seconds, and four more words; 5 if nothing keeps the clock.
int cue_clock_state(long state[10]) __asm__("ntp_gettimex");
