// What a process may still do once it runs a plugin that nobody vouches for.
#pragma once

#include "CRealTime.h"

/// The files and folders that a confined process may use. Each list ends with NULL; what does not
/// exist is left out. A folder stands for all that is in it.
struct cue_confinement {
  /// May be read.
  const char *_Nullable const *_Nonnull readable;
  /// May be read, written, created and removed.
  const char *_Nullable const *_Nonnull writable;
  /// Device files that may be read and written.
  const char *_Nullable const *_Nonnull devices;
  /// A folder in which empty folders may be removed; NULL for none.
  const char *_Nullable emptied;
};

/// Confines this process, which must have a single thread, for the rest of its life: Landlock for
/// its files, seccomp for its system calls, and no new privileges. It can start no process, open no
/// socket, trace or signal no other process, and change no attributes of files by path. Refused
/// calls return EPERM or EACCES.
///
/// - Returns: 0, or an error number: ENOSYS or EOPNOTSUPP if the kernel has no Landlock, EBUSY if
///   there is another thread. Part of the confinement may be in effect then.
CUE_HIDDEN int cue_confine(const struct cue_confinement *_Nonnull confinement);
