#include "CFile.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

struct cue_mailbox *cue_mailbox_new(double rate, LV2_URID_Map *map, LV2_Log_Log *log,
                                    const char *file) {
  struct cue_mailbox *mailbox = calloc(1, sizeof *mailbox);
  if (!mailbox) return NULL;
  mailbox->lock = malloc(sizeof(pthread_mutex_t));
  if (!mailbox->lock) {
    free(mailbox);
    return NULL;
  }
  pthread_mutex_init(mailbox->lock, NULL);
  mailbox->rate = rate;
  mailbox->log = log;
#define URID(uri) map->map(map->handle, uri)
  mailbox->urids = (struct cue_urids){
      .object = URID(LV2_ATOM__Object),
      .blank = URID(LV2_ATOM__Blank),
      .path = URID(LV2_ATOM__Path),
      .urid = URID(LV2_ATOM__URID),
      .midi = URID(LV2_MIDI__MidiEvent),
      .set = URID(LV2_PATCH__Set),
      .get = URID(LV2_PATCH__Get),
      .property = URID(LV2_PATCH__property),
      .value = URID(LV2_PATCH__value),
      .error = URID(LV2_LOG__Error),
      .file = URID(file),
  };
  return mailbox;
}

void cue_mailbox_free(struct cue_mailbox *mailbox) {
  cue_unload(mailbox->incoming);
  pthread_mutex_destroy(mailbox->lock);
  free(mailbox->lock);
  free(mailbox);
}

void cue_mailbox_want(struct cue_mailbox *mailbox, const char *path) {
  pthread_mutex_lock(mailbox->lock);
  snprintf(mailbox->wanted, sizeof mailbox->wanted, "%s", path);
  pthread_mutex_unlock(mailbox->lock);
}

void cue_mailbox_wanted(struct cue_mailbox *mailbox, char path[4096]) {
  pthread_mutex_lock(mailbox->lock);
  memcpy(path, mailbox->wanted, sizeof mailbox->wanted);
  pthread_mutex_unlock(mailbox->lock);
}

void cue_complain(const struct cue_mailbox *mailbox, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (mailbox->log) {
    mailbox->log->vprintf(mailbox->log->handle, mailbox->urids.error, format, arguments);
  } else {
    vfprintf(stderr, format, arguments);
  }
  va_end(arguments);
}
