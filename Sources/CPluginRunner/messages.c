#include "plugin_internal.h"

#include <string.h>

static uint32_t bytes_of(const cue_message_head *head) CUE_REALTIME {
  return (uint32_t)sizeof *head + padded(head->bytes);
}

static cue_message_head *staged_at(const cue_plugin *plugin, uint32_t offset) CUE_REALTIME {
  return (cue_message_head *)((char *)plugin->staged + offset);
}

/// Returns memory for a message, after those for its frame and before later ones; NULL if there is
/// none.
static void *make_room(cue_plugin *plugin, const cue_message_head *head) CUE_REALTIME {
  uint32_t needed = bytes_of(head);
  if (needed > plugin->staged_bytes - plugin->staged_used) return NULL;
  uint32_t offset = plugin->staged_used;
  if (offset > 0 && head->frame < plugin->staged_last) {
    offset = 0;
    while (staged_at(plugin, offset)->frame <= head->frame)
      offset += bytes_of(staged_at(plugin, offset));
    memmove((char *)staged_at(plugin, offset) + needed, staged_at(plugin, offset),
            plugin->staged_used - offset);
  } else {
    plugin->staged_last = head->frame;
  }
  plugin->staged_used += needed;
  return staged_at(plugin, offset);
}

void cue_plugin_stage_messages(cue_plugin *plugin) CUE_REALTIME {
  while (cue_ring_readable(plugin->messages) >= sizeof(cue_message_head)) {
    cue_message_head head;
    cue_ring_peek(plugin->messages, &head, sizeof head);
    void *room = make_room(plugin, &head);
    if (!room) return;
    cue_ring_take(plugin->messages, room, sizeof head + head.bytes);
  }
}

bool cue_plugin_stage(cue_plugin *plugin, const cue_message_head *head,
                      const LV2_Atom *atom) CUE_REALTIME {
  char *room = make_room(plugin, head);
  if (!room) {
    lose(plugin);
    return false;
  }
  memcpy(room, head, sizeof *head);
  memcpy(room + sizeof *head, atom, head->bytes);
  return true;
}

void cue_plugin_drop_staged(cue_plugin *plugin, int64_t end) CUE_REALTIME {
  uint32_t offset = 0;
  while (offset < plugin->staged_used && staged_at(plugin, offset)->frame < end)
    offset += bytes_of(staged_at(plugin, offset));
  if (offset == 0) return;
  plugin->staged_used -= offset;
  memmove(plugin->staged, staged_at(plugin, offset), plugin->staged_used);
}

void cue_plugin_append_staged(cue_plugin *plugin, uint32_t number, uint32_t *offset, int64_t now,
                              int64_t before, LV2_Atom_Sequence *sequence,
                              uint32_t bytes) CUE_REALTIME {
  while (*offset < plugin->staged_used) {
    const cue_message_head *head = staged_at(plugin, *offset);
    int64_t time = head->frame > now ? head->frame - now : 0;
    if (time >= before) return;
    if (head->port == number) append(plugin, sequence, bytes, time, (const LV2_Atom *)(head + 1));
    *offset += bytes_of(head);
  }
}

bool cue_plugin_has_staged(const cue_plugin *plugin, uint32_t number, int64_t end) CUE_REALTIME {
  for (uint32_t offset = 0; offset < plugin->staged_used;) {
    const cue_message_head *head = staged_at(plugin, offset);
    if (head->frame >= end) return false;
    if (head->port == number) return true;
    offset += bytes_of(head);
  }
  return false;
}
