#include "CPluginRunner.h"

#include <string.h>

static uint32_t hash(const char *text, size_t *length) CUE_REALTIME {
  uint32_t hash = 2166136261u; // FNV-1a
  const char *c = text;
  for (; *c; ++c)
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  *length = (size_t)(c - text);
  return hash;
}

/// Appends `length` characters and a zero to a text of `bytes` bytes.
///
/// Returns their offset plus 1; 0, with `used` unchanged, if there is no room.
static uint32_t append(char *text, uint32_t bytes, uint64_t *used, const char *uri,
                       uint32_t length) CUE_REALTIME {
  uint64_t begin = __atomic_load_n(used, __ATOMIC_RELAXED);
  do {
    if (begin > bytes || length >= bytes - begin) return 0;
  } while (!__atomic_compare_exchange_n(used, &begin, begin + length + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  memcpy(text + begin, uri, length);
  text[begin + length] = 0;
  return (uint32_t)begin + 1;
}

/// Returns this process's copy of a slot's URI; NULL if there is none yet.
static const char *own(const cue_urids *table, uint32_t slot) CUE_REALTIME {
  uint32_t text = __atomic_load_n(&table->own_slots[slot], __ATOMIC_ACQUIRE);
  return text ? table->own_text + text - 1 : NULL;
}

/// Copies `length` characters as a slot's URI, unless another thread has done so before.
///
/// Returns the copy; NULL if there is no room.
static const char *keep(cue_urids *table, uint32_t slot, const char *uri,
                        uint32_t length) CUE_REALTIME {
  uint32_t text = append(table->own_text, table->text_bytes, &table->own_text_used, uri, length);
  uint32_t none = 0;
  if (text)
    __atomic_compare_exchange_n(&table->own_slots[slot], &none, text, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
  return own(table, slot);
}

/// Copies the URI whose text begins at `text` - 1, as the shared slot says. Text that is no URI
/// becomes an empty string.
static const char *adopt(cue_urids *table, uint32_t slot, uint32_t text) CUE_REALTIME {
  if (text > table->text_bytes) return keep(table, slot, "", 0);
  const char *shared = table->text + text - 1;
  uint32_t room = table->text_bytes - (text - 1);
  if (room > CUE_LONGEST_URI + 1) room = CUE_LONGEST_URI + 1;
  uint32_t length = 0;
  while (length < room && __atomic_load_n(&shared[length], __ATOMIC_RELAXED))
    ++length;
  return keep(table, slot, shared, length < room ? length : 0);
}

uint32_t cue_urids_map(void *urids, const char *uri) CUE_REALTIME {
  cue_urids *table = urids;
  size_t length = 0;
  uint32_t probe = hash(uri, &length);
  if (length == 0 || length > CUE_LONGEST_URI) return 0;
  uint32_t ours = 0;
  for (uint32_t i = 0; i < table->capacity; ++i, ++probe) {
    uint32_t slot = probe & (table->capacity - 1);
    const char *known = own(table, slot);
    if (!known) {
      uint32_t text = __atomic_load_n(&table->slots[slot], __ATOMIC_ACQUIRE);
      if (!text && !ours)
        ours = append(table->text, table->text_bytes, table->text_used, uri, (uint32_t)length);
      // If the shared part has no room, the number is valid in this process only.
      bool is_free =
          !text && (!ours || __atomic_compare_exchange_n(&table->slots[slot], &text, ours, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
      known = is_free ? keep(table, slot, uri, (uint32_t)length) : adopt(table, slot, text);
      if (!known) return 0;
    }
    if (strcmp(known, uri) == 0) return slot + 1;
  }
  return 0;
}

const char *cue_urids_unmap(void *urids, uint32_t urid) CUE_REALTIME {
  cue_urids *table = urids;
  if (urid == 0 || urid > table->capacity) return NULL;
  const char *known = own(table, urid - 1);
  if (!known) {
    uint32_t text = __atomic_load_n(&table->slots[urid - 1], __ATOMIC_ACQUIRE);
    if (text) known = adopt(table, urid - 1, text);
  }
  return known && *known ? known : NULL;
}
