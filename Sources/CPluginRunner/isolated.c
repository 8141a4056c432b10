#include "CPluginRunner.h"

#include <linux/futex.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>

/// Header of a block in the ring of blocks; the block's events follow.
typedef struct block_head {
  int64_t frame, position;
  /// Bytes of this header and all events.
  uint32_t bytes;
  uint32_t frames, events;
  /// The floating-point mode of the host's thread.
  uint32_t float_mode;
  bool is_freewheeling, is_waited_for, has_controllers, has_transport;
  cue_transport transport;
} block_head;

/// Header of an event in both rings.
typedef struct event_head {
  /// Frame within the block, or a position in events from the plugin.
  int64_t frame;
  /// Among a block's events, the port after the last event input means controllers.
  uint32_t port, type, bytes, unused;
} event_head;

// MARK: Layout

static uint32_t power_of_two(uint64_t least) {
  uint64_t power = 64;
  while (power < least)
    power *= 2;
  return power > 1u << 30 ? 1u << 30 : (uint32_t)power;
}

static void measure(cue_shared *shared, const cue_shared_shape *shape) {
  shared->shape = *shape;
  shared->ring_frames = power_of_two(4ull * shape->maximum_frames);
  // A block may have a single frame.
  shared->blocks_bytes = power_of_two((uint64_t)shared->ring_frames * sizeof(block_head) +
                                      4ull * (shape->event_inputs + 1) * shape->event_bytes);
  shared->events_bytes = power_of_two(4ull * shape->event_outputs * shape->event_bytes);
}

size_t cue_shared_bytes(const cue_shared_shape *shape) {
  cue_shared shared;
  measure(&shared, shape);
  size_t planes = (size_t)shape->inputs + shape->outputs;
  return planes * shared.ring_frames * sizeof(float) + shared.blocks_bytes + shared.events_bytes +
         shape->readouts * sizeof(uint32_t);
}

void cue_shared_find(cue_shared *shared, const cue_shared_shape *shape, cue_shared_head *head,
                     void *memory) {
  measure(shared, shape);
  shared->head = head;
  shared->blocks = memory;
  shared->events = shared->blocks + shared->blocks_bytes;
  shared->inputs = (float *)(void *)(shared->events + shared->events_bytes);
  shared->outputs = shared->inputs + (size_t)shape->inputs * shared->ring_frames;
  shared->shown = (uint32_t *)(shared->outputs + (size_t)shape->outputs * shared->ring_frames);
}

// MARK: Signals

/// Makes the futex system call directly: the only function of the C library that a cycle calls is
/// sem_post.
static long futex(uint32_t *word, int operation, uint32_t value,
                  const struct timespec *patience) CUE_REALTIME {
#if defined(__x86_64__)
  long result = SYS_futex;
  register const struct timespec *fourth __asm__("r10") = patience;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(word), "S"(operation), "d"(value), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number __asm__("x8") = SYS_futex;
  register long result __asm__("x0") = (long)word;
  register long second __asm__("x1") = operation;
  register long third __asm__("x2") = value;
  register long fourth __asm__("x3") = (long)patience;
  __asm__ volatile("svc 0"
                   : "+r"(result)
                   : "r"(number), "r"(second), "r"(third), "r"(fourth)
                   : "memory");
  return result;
#else
#error "How does this processor make a system call?"
#endif
}

void cue_shared_signal_post(cue_shared_signal *signal) CUE_REALTIME {
  __atomic_store_n(&signal->is_posted, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&signal->is_awaited, __ATOMIC_SEQ_CST))
    futex(&signal->is_posted, FUTEX_WAKE, 1, NULL);
}

void cue_shared_signal_wait(cue_shared_signal *signal, uint32_t milliseconds) {
  __atomic_store_n(&signal->is_awaited, 1, __ATOMIC_SEQ_CST);
  if (!__atomic_exchange_n(&signal->is_posted, 0, __ATOMIC_SEQ_CST)) {
    const struct timespec patience = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    futex(&signal->is_posted, FUTEX_WAIT, 0, &patience);
    __atomic_exchange_n(&signal->is_posted, 0, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&signal->is_awaited, 0, __ATOMIC_SEQ_CST);
}

// MARK: Rings

/// Copies frames into plane `plane` from a position on, which may be below 0.
static void put_frames(float *planes, uint32_t plane, uint32_t size, int64_t position,
                       const float *samples, uint32_t frames) CUE_REALTIME {
  cue_ring_copy_in((char *)(planes + (size_t)plane * size), size * (uint32_t)sizeof(float),
                   (uint64_t)position * sizeof(float), samples, frames * (uint32_t)sizeof(float));
}

/// Copies such frames out.
static void get_frames(const float *planes, uint32_t plane, uint32_t size, int64_t position,
                       float *samples, uint32_t frames) CUE_REALTIME {
  cue_ring_copy_out((const char *)(planes + (size_t)plane * size), size * (uint32_t)sizeof(float),
                    (uint64_t)position * sizeof(float), samples, frames * (uint32_t)sizeof(float));
}

static uint32_t padded(uint32_t bytes) CUE_REALTIME {
  return (bytes + 7) & ~7u;
}

static void count(uint64_t *counter, uint64_t more) CUE_REALTIME {
  if (more > 0) __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

// MARK: The host's side

void cue_isolated_reset(cue_isolated *node) {
  node->position = 0;
  node->gap_end = INT64_MIN;
  node->given = node->heard = 0;
  node->latency_bits = 0;
  node->dry_delay = 0;
  node->fade = node->glide = node->fade_frames;
  node->is_dry = false;
  memset(node->dry, 0, (size_t)node->shared.shape.inputs * node->dry_frames * sizeof(float));
  memset(node->last, 0, node->shared.shape.outputs * sizeof(float));
  memset(node->offsets, 0, node->shared.shape.outputs * sizeof(float));
}

/// Returns the events of one of the block's inputs, where the one after the last means controllers;
/// NULL if there are none.
static const void *events_of(const cue_isolated *node, const cue_block *block,
                             uint32_t input) CUE_REALTIME {
  if (input == node->shared.shape.event_inputs) return block->controllers;
  return block->event_inputs ? block->event_inputs[input] : NULL;
}

/// Returns the number of events of a block, and adds the bytes that they take in the ring to
/// `*bytes`.
static uint32_t measure_events(const cue_isolated *node, const cue_block *block,
                               uint32_t *bytes) CUE_REALTIME {
  uint32_t events = 0;
  for (uint32_t i = 0; i <= node->shared.shape.event_inputs; ++i) {
    const void *sequence = events_of(node, block, i);
    if (!sequence) continue;
    uint32_t offset = cue_rt_first_event();
    const LV2_Atom_Event *event;
    while ((event = cue_rt_event_at(sequence, offset))) {
      offset = cue_rt_event_after(event, offset);
      *bytes += (uint32_t)sizeof(event_head) + padded(event->body.size);
      ++events;
    }
  }
  return events;
}

/// Writes the block to the ring for the plugin's process, if there is room.
static void give(cue_isolated *node, const cue_block *block, bool waits) CUE_REALTIME {
  cue_shared *shared = &node->shared;
  cue_shared_head *head = shared->head;
  block_head given = {.frame = block->frame,
                      .position = node->position,
                      .bytes = sizeof given,
                      .frames = block->frames,
                      .float_mode = cue_rt_float_mode(),
                      .is_freewheeling = block->is_freewheeling,
                      .is_waited_for = waits,
                      .has_controllers = block->controllers != NULL,
                      .has_transport = block->transport != NULL};
  if (block->transport) given.transport = *block->transport;
  given.events = measure_events(node, block, &given.bytes);
  uint64_t taken = cue_shared_taken(head);
  int64_t done = cue_shared_done(head);
  // More bytes or frames than fit were never written: the counters of the plugin's process are
  // wrong.
  uint64_t bytes = node->given - taken;
  uint64_t frames = (uint64_t)node->position - (uint64_t)done;
  // A graph bypasses a node that is not ready for its blocks, but runs it nevertheless.
  bool has_room = given.frames <= shared->shape.maximum_frames && bytes <= shared->blocks_bytes &&
                  given.bytes <= shared->blocks_bytes - bytes &&
                  (bytes == 0 ||
                   (frames <= shared->ring_frames && given.frames <= shared->ring_frames - frames));
  if (!has_room) {
    node->gap_end = node->position + given.frames;
    count(&node->lost, given.events);
    return;
  }
  for (uint32_t i = 0; i < shared->shape.inputs; ++i)
    put_frames(shared->inputs, i, shared->ring_frames, node->position, block->inputs[i],
               given.frames);
  uint64_t at = node->given;
  cue_ring_copy_in(shared->blocks, shared->blocks_bytes, at, &given, sizeof given);
  at += sizeof given;
  for (uint32_t i = 0; given.events > 0 && i <= shared->shape.event_inputs; ++i) {
    const void *sequence = events_of(node, block, i);
    if (!sequence) continue;
    uint32_t offset = cue_rt_first_event();
    const LV2_Atom_Event *event;
    while ((event = cue_rt_event_at(sequence, offset))) {
      offset = cue_rt_event_after(event, offset);
      event_head one = {event->time.frames, i, event->body.type, event->body.size, 0};
      cue_ring_copy_in(shared->blocks, shared->blocks_bytes, at, &one, sizeof one);
      cue_ring_copy_in(shared->blocks, shared->blocks_bytes, at + sizeof one, event + 1, one.bytes);
      at += sizeof one + padded(one.bytes);
    }
  }
  __atomic_store_n(&node->given, at, __ATOMIC_RELAXED);
  __atomic_store_n(&head->given, at, __ATOMIC_RELEASE);
  cue_shared_signal_post(&head->is_given);
}

static bool is_gone(const cue_isolated *node) CUE_REALTIME {
  return __atomic_load_n(&node->is_gone, __ATOMIC_ACQUIRE);
}

/// Waits until the plugin's process has finished all blocks, or is gone.
static void wait_until_done(cue_isolated *node) CUE_REALTIME {
  cue_shared_head *head = node->shared.head;
  CUE_TRUST_BEGIN // Called only if the node may wait. Blocks written before may not have asked for
                  // a post, so the loop checks again every 20 ms.
      while (cue_shared_taken(head) != node->given && !is_gone(node))
          cue_shared_signal_wait(&head->is_done, 20);
  CUE_TRUST_END
}

/// Returns how many of the `frames` frames from position `first` on the plugin has processed.
static uint32_t frames_done(const cue_isolated *node, int64_t first, uint32_t frames) CUE_REALTIME {
  if (is_gone(node) || first < node->gap_end) return 0;
  int64_t done = (int64_t)((uint64_t)cue_shared_done(node->shared.head) - (uint64_t)first);
  return done <= 0 ? 0 : done < frames ? (uint32_t)done : frames;
}

/// Copies the input that replaces output `output`, delayed like the plugin's output: `frames`
/// frames from position `first` on.
static void get_dry(const cue_isolated *node, uint32_t output, int64_t first, float *samples,
                    uint32_t frames) CUE_REALTIME {
  uint32_t inputs = node->shared.shape.inputs;
  if (inputs == 0) {
    memset(samples, 0, frames * sizeof(float));
    return;
  }
  get_frames(node->dry, output % inputs, node->dry_frames, first - node->dry_delay, samples,
             frames);
}

/// Crossfades from the input to the plugin's output in the first frames after a switch.
static void fade_in(const cue_isolated *node, uint32_t output, int64_t first, float *samples,
                    uint32_t frames) CUE_REALTIME {
  uint32_t left = node->fade_frames - node->fade;
  for (uint32_t i = 0; i < frames && i < left; ++i) {
    float dry;
    get_dry(node, output, first + i, &dry, 1);
    float part = (float)(node->fade + i + 1) / (float)node->fade_frames;
    samples[i] = dry + (samples[i] - dry) * part;
  }
}

/// Adds the remaining offset of a switch to the input, `glide` frames after it, so that there is no
/// step.
static void add_offset(const cue_isolated *node, uint32_t output, uint32_t glide, float *samples,
                       uint32_t frames) CUE_REALTIME {
  if (glide >= node->fade_frames) return;
  uint32_t left = node->fade_frames - glide;
  for (uint32_t i = 0; i < frames && i < left; ++i)
    samples[i] += node->offsets[output] * ((float)(left - i - 1) / (float)node->fade_frames);
}

/// Writes the outputs of a block: the plugin's output, and the input where that is missing.
static void write_sound(cue_isolated *node, const cue_block *block) CUE_REALTIME {
  const cue_shared *shared = &node->shared;
  uint32_t frames = block->frames;
  int64_t first = node->position - shared->shape.maximum_frames;
  uint32_t done = frames_done(node, first, frames);
  // Switch at most once in a block.
  if (node->is_dry && done < frames) done = 0;
  if (node->is_dry && done == frames) {
    node->is_dry = false;
    node->fade = 0;
  }
  bool turns = !node->is_dry && done < frames;
  for (uint32_t i = 0; i < shared->shape.outputs; ++i) {
    float *samples = block->outputs[i];
    get_frames(shared->outputs, i, shared->ring_frames, first, samples, done);
    fade_in(node, i, first, samples, done);
    add_offset(node, i, node->glide, samples, done);
    if (done < frames) {
      get_dry(node, i, first + done, samples + done, frames - done);
      if (turns) {
        float before;
        get_dry(node, i, first + done - 1, &before, 1);
        float step = (done > 0 ? samples[done - 1] : node->last[i]) - before;
        node->offsets[i] = isfinite(step) ? step : 0;
      }
      add_offset(node, i, turns ? 0 : node->glide, samples + done, frames - done);
    }
    node->last[i] = samples[frames - 1];
  }
  if (turns) {
    node->is_dry = true;
    node->glide = 0;
    if (!is_gone(node)) count(&node->late, 1);
  }
  uint32_t glided = turns ? frames - done : frames;
  node->glide +=
      glided < node->fade_frames - node->glide ? glided : node->fade_frames - node->glide;
  node->fade += done < node->fade_frames - node->fade ? done : node->fade_frames - node->fade;
  if (!is_gone(node)) count(&node->missing, frames - done);
}

/// Writes the plugin's events to the event outputs.
static void write_events(cue_isolated *node, const cue_block *block) CUE_REALTIME {
  const cue_shared *shared = &node->shared;
  uint32_t outputs = shared->shape.event_outputs;
  if (outputs == 0 || !block->event_outputs) return;
  for (uint32_t i = 0; i < outputs; ++i) {
    node->capacities[i] =
        ((const LV2_Atom *)block->event_outputs[i])->size + (uint32_t)sizeof(LV2_Atom);
    cue_rt_clear_events(block->event_outputs[i], node->urid_sequence);
  }
  uint64_t told = __atomic_load_n(&shared->head->told, __ATOMIC_ACQUIRE);
  // Only a misbehaving process writes such a value.
  if (told - node->heard > shared->events_bytes) node->heard = told;
  int64_t first = node->position - shared->shape.maximum_frames;
  uint64_t lost = 0;
  while (node->heard != told) {
    // Check and use this copy, because the process may change the ring meanwhile.
    event_head event;
    cue_ring_copy_out(shared->events, shared->events_bytes, node->heard, &event, sizeof event);
    if (event.port >= outputs || event.bytes > shared->shape.event_bytes ||
        told - node->heard < sizeof event + padded(event.bytes)) {
      node->heard = told;
      break;
    }
    if (event.frame >= first + block->frames) break;
    cue_ring_copy_out(shared->events, shared->events_bytes, node->heard + sizeof event, node->event,
                      event.bytes);
    node->heard += sizeof event + padded(event.bytes);
    // A late event is better than none: it may end a note.
    if (!cue_rt_add_event(block->event_outputs[event.port], node->capacities[event.port],
                          event.frame > first ? event.frame - first : 0, event.type, event.bytes,
                          node->event))
      ++lost;
  }
  count(&node->lost, lost);
  __atomic_store_n(&shared->head->heard, node->heard, __ATOMIC_RELEASE);
}

/// Follows the plugin's own latency.
static void follow_latency(cue_isolated *node, const cue_block *block) CUE_REALTIME {
  if (node->latency_readout < 0) return;
  const cue_shared *shared = &node->shared;
  uint32_t bits = __atomic_load_n(&shared->shown[node->latency_readout], __ATOMIC_RELAXED);
  if (bits != node->latency_bits) {
    node->latency_bits = bits;
    if (block->attention) *block->attention = true;
  }
  // Not while the input is audible.
  if (node->is_dry || node->fade < node->fade_frames || node->glide < node->fade_frames) return;
  float frames;
  memcpy(&frames, &bits, sizeof frames);
  float most = (float)(node->dry_frames - 3 * shared->shape.maximum_frames);
  node->dry_delay = frames >= 0 ? (uint32_t)((frames < most ? frames : most) + 0.5f) : 0;
}

void cue_isolated_run(void *node_, const cue_block *block) CUE_REALTIME {
  cue_isolated *node = node_;
  const cue_shared_shape *shape = &node->shared.shape;
  for (uint32_t i = 0; i < shape->inputs; ++i)
    put_frames(node->dry, i, node->dry_frames, node->position, block->inputs[i], block->frames);
  if (!is_gone(node)) {
    bool waits = node->is_offline || block->is_freewheeling;
    if (waits) wait_until_done(node);
    give(node, block, waits);
    if (waits) wait_until_done(node);
  }
  write_sound(node, block);
  write_events(node, block);
  follow_latency(node, block);
  node->position += block->frames;
}

// MARK: The plugin's side

/// Writes the sequences of the event inputs from the events of a block, which begin at `at`.
static void read_events(cue_isolated_host *host, const block_head *block,
                        uint64_t at) CUE_REALTIME {
  const cue_shared *shared = &host->shared;
  for (uint32_t i = 0; i <= shared->shape.event_inputs; ++i)
    cue_rt_clear_events(host->event_inputs[i], host->plugin->urid_sequence);
  for (uint32_t i = 0; i < block->events; ++i) {
    event_head event;
    cue_ring_copy_out(shared->blocks, shared->blocks_bytes, at, &event, sizeof event);
    cue_ring_copy_out(shared->blocks, shared->blocks_bytes, at + sizeof event, host->event,
                      event.bytes);
    at += sizeof event + padded(event.bytes);
    if (!cue_rt_add_event(host->event_inputs[event.port], shared->shape.event_bytes, event.frame,
                          event.type, event.bytes, host->event))
      count(&host->plugin->lost, 1);
  }
}

/// Returns the earliest event that is not copied yet, and the index of its output; NULL if there is
/// none.
static const LV2_Atom_Event *earliest_event(const cue_isolated_host *host,
                                            uint32_t *output) CUE_REALTIME {
  const LV2_Atom_Event *earliest = NULL;
  for (uint32_t i = 0; i < host->shared.shape.event_outputs; ++i) {
    const LV2_Atom_Event *event = cue_rt_event_at(host->event_outputs[i], host->told[i]);
    if (!event || (earliest && event->time.frames >= earliest->time.frames)) continue;
    earliest = event;
    *output = i;
  }
  return earliest;
}

/// Copies the events of the plugin's outputs to the ring, by frame.
static void tell_events(cue_isolated_host *host, const block_head *block) CUE_REALTIME {
  const cue_shared *shared = &host->shared;
  const uint32_t type = host->plugin->urid_sequence;
  for (uint32_t i = 0; i < shared->shape.event_outputs; ++i) {
    host->told[i] = cue_rt_first_event();
    if (!cue_rt_is_sequence(host->event_outputs[i], shared->shape.event_bytes, type))
      cue_rt_clear_events(host->event_outputs[i], type);
  }
  uint64_t told = shared->head->told;
  uint64_t heard = __atomic_load_n(&shared->head->heard, __ATOMIC_ACQUIRE);
  uint32_t output = 0;
  const LV2_Atom_Event *event;
  while ((event = earliest_event(host, &output))) {
    host->told[output] = cue_rt_event_after(event, host->told[output]);
    int64_t frame = event->time.frames < 0 ? 0 : event->time.frames;
    if (frame >= block->frames) frame = block->frames - 1;
    event_head head = {block->position + frame, output, event->body.type, event->body.size, 0};
    uint32_t bytes = (uint32_t)sizeof head + padded(head.bytes);
    if (bytes > shared->events_bytes - (told - heard)) {
      count(&host->plugin->lost, 1);
      continue;
    }
    cue_ring_copy_in(shared->events, shared->events_bytes, told, &head, sizeof head);
    cue_ring_copy_in(shared->events, shared->events_bytes, told + sizeof head, event + 1,
                     head.bytes);
    told += bytes;
  }
  __atomic_store_n(&shared->head->told, told, __ATOMIC_RELEASE);
}

void cue_isolated_host_show(cue_isolated_host *host) CUE_REALTIME {
  for (uint32_t i = 0; i < host->shared.shape.readouts; ++i)
    __atomic_store_n(&host->shared.shown[i],
                     __atomic_load_n(&host->plugin->readouts[i].shown, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
}

bool cue_isolated_host_run(cue_isolated_host *host) CUE_REALTIME {
  const cue_shared *shared = &host->shared;
  const cue_shared_shape *shape = &shared->shape;
  cue_shared_head *head = shared->head;
  uint64_t taken = head->taken;
  if (__atomic_load_n(&head->given, __ATOMIC_ACQUIRE) == taken) return false;
  block_head given;
  cue_ring_copy_out(shared->blocks, shared->blocks_bytes, taken, &given, sizeof given);
  cue_rt_set_float_mode(given.float_mode);
  for (uint32_t i = 0; i < shape->inputs; ++i)
    get_frames(shared->inputs, i, shared->ring_frames, given.position, (float *)host->inputs[i],
               given.frames);
  read_events(host, &given, taken + sizeof given);
  for (uint32_t i = 0; i < shape->event_outputs; ++i)
    cue_rt_offer_events(host->event_outputs[i], shape->event_bytes, host->plugin->urid_chunk);
  cue_block block = {.frames = given.frames,
                     .is_freewheeling = given.is_freewheeling,
                     .frame = given.frame,
                     .inputs = host->inputs,
                     .outputs = host->outputs,
                     .event_inputs = (const void *const *)host->event_inputs,
                     .event_outputs = host->event_outputs};
  if (given.has_controllers) block.controllers = host->event_inputs[shape->event_inputs];
  if (given.has_transport) block.transport = &given.transport;
  cue_plugin_run(host->plugin, &block);
  for (uint32_t i = 0; i < shape->outputs; ++i)
    put_frames(shared->outputs, i, shared->ring_frames, given.position, host->outputs[i],
               given.frames);
  tell_events(host, &given);
  cue_isolated_host_show(host);
  __atomic_store_n(&head->lost, cue_plugin_lost(host->plugin), __ATOMIC_RELAXED);
  __atomic_store_n(&head->done, given.position + given.frames, __ATOMIC_RELEASE);
  __atomic_store_n(&head->taken, taken + given.bytes, __ATOMIC_RELEASE);
  if (given.is_waited_for) cue_shared_signal_post(&head->is_done);
  return true;
}
