// A plain LV2 host with lilv and without Cuejack's code: a failure here is not caused by Cuejack.
#pragma once
#include <lilv/lilv.h>
#include <lv2/atom/forge.h>
#include <lv2/options/options.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  LONGEST_BLOCK = 4096,
  EVENT_BYTES = 1 << 20
};

typedef enum {
  OTHER,
  SOUND_IN,
  SOUND_OUT,
  CONTROL_IN,
  CONTROL_OUT,
  EVENTS_IN,
  EVENTS_OUT,
} port_kind;

typedef struct {
  port_kind kind;
  const char *symbol;
  /// Values of a control; NAN for those that the bundle does not give.
  float low, high, usual;
  bool is_in_rates, is_whole, is_toggle, takes_midi, takes_position, is_latency;
  /// Whether the port resets itself or is set by the host.
  bool is_passing;
} port;

typedef struct {
  LilvWorld *world;
  const LilvPlugin *plugin;
  port *ports;
  uint32_t count;
  bool cares_for_length;
  /// The folder in which plugins write files.
  char folder[512];
} plugin_facts;

typedef struct message {
  struct message *next;
  uint32_t bytes;
  char body[];
} message;

typedef struct {
  plugin_facts *facts;
  LilvInstance *instance;
  double rate;
  int32_t longest, shortest, event_bytes;
  float float_rate;
  bool is_offline, is_active;
  float *controls;
  void **buffers;
  int64_t frame;
  uint64_t noise;
  bool wrote_no_number;

  LV2_Worker_Schedule schedule, schedule_restored;
  LV2_Options_Option options[6];
  const LV2_Feature *features[24];
  const LV2_Feature *features_restored[24];
  LV2_Feature storage[24];
  LV2_Feature schedule_feature;

  const LV2_Worker_Interface *worker;
  pthread_t thread;
  bool has_thread, is_over;
  pthread_mutex_t lock, work_lock;
  pthread_cond_t woken;
  message *requests, *responses;
} instance;

extern LV2_URID_Map map_feature;
extern LV2_URID_Unmap unmap_feature;
LV2_URID map(const char *uri);

/// Reads the bundle's description. Returns false if there is no such plugin.
bool read_facts(plugin_facts *facts, LilvWorld *world, const char *uri);

/// Creates and connects an instance. Returns NULL if the plugin refuses.
instance *make(plugin_facts *facts, double rate, int32_t longest, bool is_offline);
void activate(instance *it);
/// Deactivates and frees an instance.
void end(instance *it);

/// Runs a block of noise, with a note-on and a note-off if `has_note`.
void run_block(instance *it, uint32_t frames, bool has_note);
/// Sets another maximum block length. Returns false if the plugin must be instantiated again.
bool tell_length(instance *it, int32_t longest);

/// Returns the state of an instance, and saves it in `folder` unless that is NULL.
LilvState *state_of(instance *it, const char *folder);
void restore(instance *it, const LilvState *state);
