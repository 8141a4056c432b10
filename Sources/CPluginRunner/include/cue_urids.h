// URID map that the plugins of several processes can share. Nothing here is exported.
#pragma once

#include "CRealTime.h"

/// Bytes of the longest URI that gets a URID.
#define CUE_LONGEST_URI 8191

/// URID map for any thread: neither direction takes a lock or allocates. Has a fixed address.
///
/// Other processes may map the shared part, and then have the same URIDs. This process does not
/// trust their writes. It copies each URI once, when it first meets it, and uses its copy. So a
/// URID keeps its URI, and the text of a URI never changes and ends with a zero.
typedef struct cue_urids {
  // Shared with other processes.
  /// `capacity` slots, a power of two, initially 0: a URI's offset in the text, plus 1.
  uint32_t *slots;
  uint32_t capacity;
  /// The texts of the URIs, initially 0, and the number of bytes in use.
  char *text;
  uint32_t text_bytes;
  uint64_t *text_used;

  // This process's own copies, with as many slots and as much text.
  uint32_t *own_slots;
  char *own_text;
  uint64_t own_text_used;
} cue_urids;

/// Returns the URID of `uri`, the same each time; 0 if there is no room, or if the URI is empty or
/// too long. `urids` is a cue_urids.
CUE_HIDDEN uint32_t cue_urids_map(void *urids, const char *uri) CUE_REALTIME;

/// Returns the URI of `urid`; NULL if there is none. `urids` is a cue_urids.
CUE_HIDDEN const char *cue_urids_unmap(void *urids, uint32_t urid) CUE_REALTIME;
