// URIs as numbers, for plugins of several processes. Nothing here is exported.
#pragma once

#include "CRealTime.h"

/// Bytes of the longest URI that gets a number.
#define CUE_LONGEST_URI 8191

/// URIs as numbers, for plugins of any thread: neither way takes a lock or allocates. Never moves.
///
/// Other processes may have the shared part: they have the same numbers then. This process does not
/// trust what they write there. It copies each URI once, when it first meets it, and goes by its
/// copy: a number keeps its URI, and the text of a URI never changes and ends with a zero.
typedef struct cue_urids {
  // Shared with other processes.
  /// `capacity` slots, a power of two, all 0 at first: where a URI begins in the text, and 1.
  uint32_t *slots;
  uint32_t capacity;
  /// The URIs' texts, all 0 at first, and how much of that is used.
  char *text;
  uint32_t text_bytes;
  uint64_t *text_used;

  // This process's own copies: as many slots, and as much text.
  uint32_t *own_slots;
  char *own_text;
  uint64_t own_text_used;
} cue_urids;

/// The number of `uri`, the same each time; 0 if there is no room, or if it is too long. `urids` is
/// a cue_urids.
CUE_HIDDEN uint32_t cue_urids_map(void *urids, const char *uri) CUE_REALTIME;

/// The URI whose number is `urid`; NULL if there is none. `urids` is a cue_urids.
CUE_HIDDEN const char *cue_urids_unmap(void *urids, uint32_t urid) CUE_REALTIME;
