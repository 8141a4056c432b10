// The part of the callback checks that is not real time: hooks for the C library's functions that a
// cycle must not call, and the names of callbacks.
//
// The hooks are written into the tables (global offset tables) by which the loaded objects call the
// C library, except into those of the object that contains this code. They count calls of threads
// that are inside a checked callback, and go on to the C library's functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

#define CUE_HOOKS_HIDDEN __attribute__((visibility("hidden")))

/// Writes the hooks into the objects that are loaded and do not have them yet. Call it again for
/// objects that were loaded since. One thread at a time; not real time.
void cue_install_hooks(void) CUE_HOOKS_HIDDEN;

/// Returns the name of the function whose calls have index `index` in a cue_check; NULL if there is
/// none.
const char *_Nullable cue_hooked_function(uint32_t index) CUE_HOOKS_HIDDEN;

/// Finds the function that contains `address`, in the symbol table of its program or library. Not
/// real time.
///
/// Copies its name to `name`, empty if the object has none for it, and the object's path to
/// `object`. Stores the distance of `address` from the object's beginning. Returns false if no
/// object contains it.
bool cue_find_function(uintptr_t address, char *name, size_t name_size, char *object,
                       size_t object_size, uintptr_t *offset) CUE_HOOKS_HIDDEN;

#pragma clang assume_nonnull end
