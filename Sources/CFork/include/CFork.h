// Processes that fork() made and that have called no exec function yet.
//
// Swift's runtime and libdispatch keep the number of a thread in that thread's memory, and lock
// with it. fork() copies the memory, but the only thread of the child has a new number. So a child
// waits for ever on a lock that another thread of it wants, even if its parent called nothing: the
// runtime's constructors keep the number already. The handlers that this code registers when it is
// loaded write the new number into the child's memory.
//
// Locks that another thread of the parent held stay held in the child, and no thread of the library
// runs there. Such a child is refused.
#ifndef CFORK_H
#define CFORK_H

#include <stdbool.h>

/// Notes that the library is in use. Returns false in a child that must not use it: its parent had
/// several threads and had used the library before. Writes a line on the standard error output the
/// first time. Any thread.
__attribute__((visibility("hidden"))) bool cue_fork_may_call(void);

/// Marks a file that this process has locked: each child made by fork() closes its copy at once. A
/// child that kept the copy would hold the lock until the child ends. Up to 64 files. Any thread.
__attribute__((visibility("hidden"))) void cue_fork_close(int file);

/// Removes the mark of `cue_fork_close`. Call it before the process closes the file. Any thread.
__attribute__((visibility("hidden"))) void cue_fork_keep(int file);

#endif
