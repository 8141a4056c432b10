// Four threads make random calls of every function of the headers, with hostile numbers, handles
// that other threads end, and callbacks that fail or call back. A call may succeed or fail; the
// program must not crash, wait for ever or take much memory.
//
// Arguments: seconds, seed, family, number of threads; without any, five seconds with a fixed seed
// and five with one that is printed. A family's calls can be repeated with one thread.
#include "calls.h"

#include <AudioToolbox/AUGraph.h>
#include <AudioToolbox/AudioSession.h>
#include <AudioToolbox/AudioUnitUtilities.h>
#include <CoreMIDI/CoreMIDI.h>
#include <CoreServices/CoreServices.h>
#include <Cuejack/QueueEffects.h>
#include <os/workgroup.h>

#include <execinfo.h>

// MARK: Handles

enum {
  QUEUES,
  TIMELINES,
  TAPS,
  UNITS,
  LISTENERS,
  GRAPHS,
  SEQUENCES,
  TRACKS,
  ITERATORS,
  PLAYERS,
  CONVERTERS,
  FILES,
  EXTENDED,
  STREAMS,
  PROCEDURES,
  SOUNDS,
  MIDI_CLIENTS,
  MIDI_PORTS,
  MIDI_ENDPOINTS,
  MIDI_THRUS,
  KINDS
};

enum {
  SLOTS = 8
};

static _Atomic(void *) pool[KINDS][SLOTS], ended[KINDS][4];

/// A slot of the pool, with a handle if there is any.
static _Atomic(void *) *slot_of(int kind) {
  UInt32 first = below(SLOTS);
  for (UInt32 i = 0; i < SLOTS; i++)
    if (pool[kind][(first + i) % SLOTS]) return &pool[kind][(first + i) % SLOTS];
  return &pool[kind][first];
}

/// A handle: most are of the pool, some were ended, and some are none.
static void *any(int kind) {
  switch (below(is_tame ? 400 : 40)) {
  case 0:
    return NULL;
  case 1:
    return (void *)(uintptr_t)(below(100) << 4);
  case 2:
    return (void *)(uintptr_t)draw();
  case 3:
    return ended[kind][below(4)];
  default:
    return *slot_of(kind);
  }
}

/// Takes a handle that one thread at a time may use out of the pool: NULL if another one has it.
/// Some were ended, and some are none.
static void *borrow(int kind) {
  if (one_in(32)) return one_in(2) ? (void *)(uintptr_t)draw() : ended[kind][below(4)];
  return atomic_exchange(slot_of(kind), NULL);
}

/// Buffers of queues. A queue that is in the table does not end while somebody holds the lock to
/// read.
static pthread_rwlock_t memory_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
  _Atomic(AudioQueueRef) queue;
  _Atomic(AudioQueueBufferRef) buffer;
} given[64];
static AudioQueueRef alive[SLOTS * 4];

static void set_alive(AudioQueueRef old, AudioQueueRef new) {
  pthread_rwlock_wrlock(&memory_lock);
  for (size_t i = 0; i < COUNT(alive); i++)
    if (alive[i] == old) {
      alive[i] = new;
      break;
    }
  pthread_rwlock_unlock(&memory_lock);
}

static bool is_alive(AudioQueueRef queue) {
  for (size_t i = 0; i < COUNT(alive); i++)
    if (queue && alive[i] == queue) return true;
  return false;
}

static void end_queue(AudioQueueRef queue) {
  set_alive(queue, NULL);
  CALL(AudioQueueDispose(queue, !one_in(3)), (long)queue);
}

/// Ends a handle.
static void end(int kind, void *handle) {
  if (!handle) return;
  ended[kind][below(4)] = handle;
  switch (kind) {
  case QUEUES:
    end_queue(handle);
    break;
  case TAPS:
    CALL(AudioQueueProcessingTapDispose(handle), (long)handle);
    break;
  case TIMELINES:
    CALL(AudioQueueDisposeTimeline(any(QUEUES), handle), (long)handle);
    break;
  case UNITS:
    if (one_in(4))
      CALL(CloseComponent(handle), (long)handle);
    else
      CALL(AudioComponentInstanceDispose(handle), (long)handle);
    break;
  case LISTENERS:
    CALL(AUListenerDispose(handle), (long)handle);
    break;
  case GRAPHS:
    CALL(DisposeAUGraph(handle), (long)handle);
    break;
  case SEQUENCES:
    CALL(DisposeMusicSequence(handle), (long)handle);
    break;
  case ITERATORS:
    CALL(DisposeMusicEventIterator(handle), (long)handle);
    break;
  case PLAYERS:
    CALL(DisposeMusicPlayer(handle), (long)handle);
    break;
  case CONVERTERS:
    CALL(AudioConverterDispose(handle), (long)handle);
    break;
  case FILES:
    CALL(AudioFileClose(handle), (long)handle);
    break;
  case EXTENDED:
    CALL(ExtAudioFileDispose(handle), (long)handle);
    break;
  case STREAMS:
    CALL(AudioFileStreamClose(handle), (long)handle);
    break;
  case SOUNDS:
    CALL(AudioServicesDisposeSystemSoundID((SystemSoundID)(uintptr_t)handle), (long)handle);
    break;
  case MIDI_CLIENTS:
    CALL(MIDIClientDispose((MIDIClientRef)(uintptr_t)handle), (long)handle);
    break;
  case MIDI_PORTS:
    CALL(MIDIPortDispose((MIDIPortRef)(uintptr_t)handle), (long)handle);
    break;
  case MIDI_ENDPOINTS:
    CALL(MIDIEndpointDispose((MIDIEndpointRef)(uintptr_t)handle), (long)handle);
    break;
  case MIDI_THRUS:
    CALL(MIDIThruConnectionDispose((MIDIThruConnectionRef)(uintptr_t)handle), (long)handle);
    break;
  default:
    break;
  }
}

/// Puts a handle into the pool, and ends the one that it replaces.
static void put(int kind, void *handle) {
  if (!handle) return;
  if (kind == QUEUES) set_alive(NULL, handle);
  UInt32 slot = below(SLOTS);
  for (UInt32 i = 0; i < SLOTS && pool[kind][slot]; i++)
    slot = (slot + 1) % SLOTS;
  end(kind, atomic_exchange(&pool[kind][slot], handle));
}

/// Puts a handle that was borrowed back, unless it was none.
static void give_back(int kind, void *handle) {
  for (int i = 0; i < 4; i++)
    if (handle == ended[kind][i]) return;
  if ((uintptr_t)handle % 16 == 0 && (uintptr_t)handle < 1ull << 32) put(kind, handle);
}

// MARK: Callbacks

static _Thread_local int nesting;
static _Thread_local bool is_caller;

static void call_queue(void);
static void call_unit(void);
static void call_file(void);
static AudioObjectID any_object(void);

/// Makes a call of a family inside a callback, now and then.
static void call_back(void (*family)(void)) {
  if (nesting > 0 || !one_in(16)) return;
  nesting++;
  family();
  nesting--;
}

/// Makes a call that a callback may make on the process thread.
static void call_in_cycle(void) {
  AudioUnit unit = any(UNITS);
  AudioDeviceIOProcID procedure = (AudioDeviceIOProcID)any(PROCEDURES);
  UInt32 id = below(8), frames = amount();
  Float32 value = real32();
  AudioTimeStamp time = stamp();
  switch (below(6)) {
  case 0:
    CALL(AudioUnitRender(unit, NULL, &time, 0, frames, list()), (long)unit, frames);
    break;
  case 1:
    CALL(AudioUnitSetParameter(unit, id, 0, 0, value, frames), (long)unit, id, frames);
    break;
  case 2:
    CALL(AudioUnitGetParameter(unit, id, 0, 0, &value), (long)unit, id);
    break;
  case 3:
    CALL(AudioUnitReset(unit, 0, 0), (long)unit);
    break;
  case 4:
    CALL(AudioOutputUnitStop(unit), (long)unit);
    break;
  default:
    if (one_in(2))
      CALL(AudioDeviceStart(any_object(), procedure), (long)procedure);
    else
      CALL(AudioDeviceStop(any_object(), procedure), (long)procedure);
    break;
  }
}

static void fill(AudioQueueBufferRef buffer) {
  UInt32 room = buffer->mAudioDataBytesCapacity < 4096 ? buffer->mAudioDataBytesCapacity : 4096;
  memset(buffer->mAudioData, one_in(8) ? 0xFF : 0x3E, room);
  buffer->mAudioDataByteSize = one_in(4) ? amount() : room;
  if (buffer->mPacketDescriptionCapacity == 0) return;
  UInt32 count = buffer->mPacketDescriptionCapacity;
  memcpy(buffer->mPacketDescriptions, packets(room),
         (count < PACKETS ? count : PACKETS) * sizeof(AudioStreamPacketDescription));
  buffer->mPacketDescriptionCount = one_in(4) ? word() : count < PACKETS ? count : PACKETS;
}

static void enqueue(AudioQueueRef queue, AudioQueueBufferRef buffer) {
  UInt32 count = one_in(2) ? 0 : below(PACKETS + 1);
  AudioStreamPacketDescription *described = one_in(8) ? NULL : packets(4096);
  if (one_in(2)) {
    CALL(AudioQueueEnqueueBuffer(queue, buffer, count, described), (long)queue, (long)buffer,
         count);
    return;
  }
  AudioQueueParameterEvent events[8];
  UInt32 changes = one_in(2) ? 0 : below(9);
  for (UInt32 i = 0; i < changes; i++)
    events[i] = (AudioQueueParameterEvent){one_in(4) ? word() : 1 + below(4), real32()};
  AudioTimeStamp start = stamp(), actual;
  UInt32 first = one_in(2) ? 0 : amount(), last = one_in(2) ? 0 : amount();
  CALL(AudioQueueEnqueueBufferWithParameters(queue, buffer, count, described, first, last, changes,
                                             events, one_in(2) ? &start : NULL,
                                             one_in(2) ? &actual : NULL),
       (long)queue, count, first, last, changes);
}

static void used(AudioQueueRef queue, AudioQueueBufferRef buffer) {
  call_back(call_queue);
  switch (below(16)) {
  case 0:
    break;
  case 1:
    CALL(AudioQueueFreeBuffer(queue, buffer), (long)queue);
    break;
  default:
    fill(buffer);
    enqueue(queue, buffer);
    break;
  }
}

static void played(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
  (void)data;
  used(queue, buffer);
}

static void recorded(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer,
                     const AudioTimeStamp *start, UInt32 count,
                     const AudioStreamPacketDescription *described) {
  (void)data, (void)start;
  UInt64 sum = 0;
  for (UInt32 i = 0; described && i < count; i++)
    sum += described[i].mDataByteSize;
  CHECK(sum <= buffer->mAudioDataBytesCapacity);
  used(queue, buffer);
}

static void told(void *data, AudioQueueRef queue, AudioQueuePropertyID id) {
  (void)data, (void)queue, (void)id;
  call_back(call_queue);
}

static void tapped(void *data, AudioQueueProcessingTapRef tap, UInt32 frames, AudioTimeStamp *time,
                   AudioQueueProcessingTapFlags *flags, UInt32 *count, AudioBufferList *samples) {
  (void)data;
  Float64 frame;
  UInt32 wanted = one_in(4) ? amount() : frames;
  CALL(AudioQueueProcessingTapGetSourceAudio(tap, wanted, time, flags, count, samples), (long)tap,
       wanted);
  CALL(AudioQueueProcessingTapGetQueueTime(tap, &frame, count), (long)tap);
  *count = one_in(8) ? amount() : frames;
  call_back(call_queue);
}

static OSStatus render(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                       UInt32 bus, UInt32 frames, AudioBufferList *samples) {
  (void)data, (void)time, (void)bus, (void)frames;
  call_back(is_caller ? call_unit : call_in_cycle);
  for (UInt32 i = 0; samples && i < samples->mNumberBuffers; i++) {
    if (samples->mBuffers[i].mData)
      memset(samples->mBuffers[i].mData, one_in(8) ? 0xFF : 0x3E,
             samples->mBuffers[i].mDataByteSize);
    if (one_in(16)) samples->mBuffers[i].mDataByteSize /= 2;
  }
  if (flags && one_in(4)) *flags = word();
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus io(AudioDeviceID device, const AudioTimeStamp *now, const AudioBufferList *input,
                   const AudioTimeStamp *input_time, AudioBufferList *output,
                   const AudioTimeStamp *output_time, void *data) {
  (void)device, (void)input, (void)input_time;
  AudioUnitRenderActionFlags flags = 0;
  (void)now;
  return render(data, &flags, output_time, 0, 0, output);
}

static void changed(void *data, AudioUnit unit, AudioUnitPropertyID id, AudioUnitScope scope,
                    AudioUnitElement element) {
  (void)data, (void)unit, (void)id, (void)scope, (void)element;
  call_back(call_unit);
}

static void heard_value(void *data, void *object, const AudioUnitParameter *parameter,
                        AudioUnitParameterValue value) {
  (void)data, (void)object, (void)parameter, (void)value;
  call_back(call_unit);
}

static void heard(void *data, void *object, const AudioUnitEvent *event, UInt64 time,
                  AudioUnitParameterValue value) {
  (void)data, (void)object, (void)event, (void)time, (void)value;
  call_back(call_unit);
}

static OSStatus beat(void *data, Float64 *at, Float64 *tempo) {
  (void)data;
  *at = real64(), *tempo = real64();
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus meter(void *data, UInt32 *frames, Float32 *beats, UInt32 *unit, Float64 *down) {
  (void)data;
  *frames = word(), *beats = real32(), *unit = word(), *down = real64();
  return noErr;
}

static OSStatus transport(void *data, Boolean *plays, Boolean *moved, Float64 *frame,
                          Boolean *cycles, Float64 *start, Float64 *stop) {
  (void)data;
  *plays = *moved = *cycles = one_in(2);
  *frame = real64(), *start = real64(), *stop = real64();
  return noErr;
}

static void slice_ended(void *data, ScheduledAudioSlice *slice) {
  (void)data, (void)slice;
  call_back(call_unit);
}

static void region_ended(void *data, ScheduledAudioFileRegion *region, OSStatus status) {
  (void)data, (void)region, (void)status;
  call_back(call_unit);
}

static OSStatus supply(AudioConverterRef converter, UInt32 *count, AudioBufferList *samples,
                       AudioStreamPacketDescription **described, void *data) {
  (void)converter, (void)data;
  static char memory[ROOM];
  // As many descriptions as packets, if there are any.
  *count = one_in(3) ? amount() : *count;
  if (described) {
    *described = one_in(8) ? NULL : packets(2048);
    if (*count > PACKETS) *count = PACKETS;
  }
  if (one_in(16)) samples->mNumberBuffers = 1;
  for (UInt32 i = 0; i < samples->mNumberBuffers; i++) {
    samples->mBuffers[i].mData = one_in(16) ? NULL : memory;
    samples->mBuffers[i].mDataByteSize = one_in(2) ? ROOM : size();
    if (one_in(16)) samples->mBuffers[i].mNumberChannels = word();
  }
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus supply_bytes(AudioConverterRef converter, UInt32 *count, void **samples,
                             void *data) {
  (void)converter, (void)data;
  static char memory[ROOM];
  *samples = one_in(16) ? NULL : memory;
  *count = one_in(2) ? ROOM : size();
  return one_in(8) ? (OSStatus)word() : noErr;
}

static void object_changed(AudioObjectID object, const AudioObjectPropertyAddress *address);

static OSStatus object_told(AudioObjectID object, UInt32 count,
                            const AudioObjectPropertyAddress *addresses, void *data) {
  (void)count, (void)data;
  object_changed(object, addresses);
  return (OSStatus)word();
}

static OSStatus hardware_told(AudioHardwarePropertyID id, void *data) {
  (void)id, (void)data;
  return noErr;
}

static OSStatus device_told(AudioDeviceID device, UInt32 channel, Boolean is_input,
                            AudioDevicePropertyID id, void *data) {
  (void)device, (void)channel, (void)is_input, (void)id, (void)data;
  return noErr;
}

static OSStatus stream_told(AudioStreamID stream, UInt32 channel, AudioDevicePropertyID id,
                            void *data) {
  (void)stream, (void)channel, (void)id, (void)data;
  return noErr;
}

static void sound_played(SystemSoundID sound, void *data) {
  (void)sound, (void)data;
}

static void session_told(void *data, AudioSessionPropertyID id, UInt32 bytes_of_value,
                         const void *value) {
  (void)data, (void)id, (void)bytes_of_value, (void)value;
}

static void interrupted(void *data, UInt32 state) {
  (void)data, (void)state;
}

static void property_found(void *data, AudioFileStreamID stream, AudioFileStreamPropertyID id,
                           AudioFileStreamPropertyFlags *flags) {
  (void)data;
  UInt32 bytes_of_value = ROOM;
  *flags = word();
  if (id == 'info') return;
  CALL(AudioFileStreamGetProperty(stream, id, &bytes_of_value, bytes(0)), (long)stream, id);
}

static void packets_found(void *data, UInt32 length, UInt32 count, const void *input,
                          AudioStreamPacketDescription *described) {
  (void)data;
  for (UInt32 i = 0; described && i < count; i++)
    CHECK(described[i].mStartOffset >= 0 &&
          described[i].mStartOffset + described[i].mDataByteSize <= length);
  // All that is promised can be read.
  static atomic_uchar sum;
  for (UInt32 i = 0; i < length; i += 64)
    atomic_fetch_add(&sum, ((const unsigned char *)input)[i]);
  call_back(call_file);
}

// MARK: Queues

static const UInt32 queue_ids[] = {'aqrn', 'aqsr', 'aqdc', 'aqcd', 'aqca', 'aqmc', 'xops', 'aqft',
                                   'aqcl', 'aqme', 'aqmv', 'aqmd', 'q_tp', 'qtpa', 'qtpb', 'dcbf',
                                   'qcve', 'aqcp', 'brat', 'acod', 'acid', 'cmgc', 'dmgc', 'srcq'};
static CFRunLoopRef loop;
static dispatch_queue_t serial;

static AudioQueueRef make_queue(void) {
  AudioStreamBasicDescription wanted = format();
  AudioQueueRef queue = NULL;
  UInt32 flags = one_in(8) ? word() : 0;
  CFRunLoopRef on = one_in(4) ? loop : NULL;
  CFStringRef mode = one_in(4) ? kCFRunLoopDefaultMode : NULL;
  switch (below(6)) {
  case 0:
  case 1:
    CALL(AudioQueueNewInput(&wanted, recorded, NULL, on, mode, flags, &queue), wanted.mFormatID);
    break;
  case 2:
    CALL(AudioQueueNewOutputWithDispatchQueue(&queue, &wanted, flags, serial,
                                              ^(AudioQueueRef from, AudioQueueBufferRef buffer) {
                                                used(from, buffer);
                                              }),
         wanted.mFormatID);
    break;
  case 3:
    CALL(AudioQueueNewInputWithDispatchQueue(
             &queue, &wanted, flags, serial,
             ^(AudioQueueRef from, AudioQueueBufferRef buffer, const AudioTimeStamp *start,
               UInt32 count, const AudioStreamPacketDescription *described) {
               recorded(NULL, from, buffer, start, count, described);
             }),
         wanted.mFormatID);
    break;
  default:
    CALL(AudioQueueNewOutput(&wanted, played, NULL, on, mode, flags, &queue), wanted.mFormatID);
    break;
  }
  put(QUEUES, queue);
  return queue;
}

/// Allocates a buffer, and fills and enqueues it. It may replace another one.
static void give_buffer(AudioQueueRef queue) {
  AudioQueueBufferRef buffer = NULL;
  UInt32 room = one_in(8) ? word() : 256 + below(8192), count = one_in(8) ? word() : below(32);
  pthread_rwlock_rdlock(&memory_lock);
  if (is_alive(queue)) {
    if (one_in(2))
      CALL(AudioQueueAllocateBuffer(queue, room, &buffer), (long)queue, room);
    else
      CALL(AudioQueueAllocateBufferWithPacketDescriptions(queue, room, count, &buffer), (long)queue,
           room, count);
    if (buffer) fill(buffer);
  }
  pthread_rwlock_unlock(&memory_lock);
  if (!buffer) return;
  size_t i = below((UInt32)COUNT(given));
  AudioQueueRef old_queue = atomic_exchange(&given[i].queue, queue);
  AudioQueueBufferRef old = atomic_exchange(&given[i].buffer, buffer);
  enqueue(queue, buffer);
  if (old) CALL(AudioQueueFreeBuffer(old_queue, old), (long)old_queue);
  // Nobody keeps gigabytes.
  if (room > 1 << 20) CALL(AudioQueueFreeBuffer(queue, buffer), (long)queue);
}

static void call_queue_property(AudioQueueRef queue) {
  UInt32 id = one_in(16) ? word() : ONE_OF(queue_ids), stated = size();
  char *value = bytes(0);
  switch (below(5)) {
  case 0:
    CALL(AudioQueueGetPropertySize(queue, id, &stated), (long)queue, id);
    break;
  case 1:
    CALL(AudioQueueAddPropertyListener(queue, id, told, NULL), (long)queue, id);
    break;
  case 2:
    CALL(AudioQueueRemovePropertyListener(queue, id, told, NULL), (long)queue, id);
    break;
  case 3:
    if (id == 'aqca') return;
    if (CALL(AudioQueueGetProperty(queue, id, value, &stated), (long)queue, id, stated) == noErr &&
        is_object(id))
      release(value);
    break;
  default:
    if (id == 'aqca') memset(value, 0, stated);
    if (is_object(id)) put_object(value, id);
    if (id == 'aqcl') stated = sized_layout((AudioChannelLayout *)(void *)value);
    // Another server would be looked for.
    if (id == 'aqcd' && !one_in(16)) return;
    CALL(AudioQueueSetProperty(queue, id, value, stated), (long)queue, id, stated);
    break;
  }
}

static void call_queue_time(AudioQueueRef queue) {
  AudioTimeStamp time = stamp(), out = stamp();
  Boolean is_new;
  AudioQueueTimelineRef timeline = NULL;
  switch (below(6)) {
  case 0:
    CALL(AudioQueueGetCurrentTime(queue, one_in(2) ? NULL : any(TIMELINES), &out, &is_new),
         (long)queue);
    break;
  case 1:
    CALL(AudioQueueDeviceGetCurrentTime(queue, &out), (long)queue);
    break;
  case 2:
    CALL(AudioQueueDeviceTranslateTime(queue, &time, &out), (long)queue);
    break;
  case 3: {
    UInt32 flags = word();
    CALL(AudioQueueDeviceGetNearestStartTime(queue, &time, flags), (long)queue, flags);
    break;
  }
  case 4:
    CALL(AudioQueueCreateTimeline(queue, &timeline), (long)queue);
    put(TIMELINES, timeline);
    break;
  default:
    timeline = any(TIMELINES);
    CALL(AudioQueueDisposeTimeline(queue, timeline), (long)queue, (long)timeline);
    break;
  }
}

static void call_tap(AudioQueueRef queue) {
  static const AudioQueueProcessingTapFlags kinds[] = {
      kAudioQueueProcessingTap_PreEffects, kAudioQueueProcessingTap_PostEffects,
      kAudioQueueProcessingTap_PreEffects | kAudioQueueProcessingTap_Siphon, 0};
  AudioStreamBasicDescription processed;
  AudioQueueProcessingTapFlags flags = one_in(4) ? word() : ONE_OF(kinds);
  AudioQueueProcessingTapRef tap = NULL;
  AudioTimeStamp time = stamp();
  UInt32 frames = amount();
  Float64 frame;
  switch (below(4)) {
  case 0:
    CALL(AudioQueueProcessingTapNew(queue, tapped, NULL, flags, &frames, &processed, &tap),
         (long)queue, flags);
    put(TAPS, tap);
    break;
  case 1:
    tap = any(TAPS);
    CALL(AudioQueueProcessingTapDispose(tap), (long)tap);
    break;
  case 2:
    tap = any(TAPS);
    CALL(AudioQueueProcessingTapGetSourceAudio(tap, frames, &time, &flags, &frames, list()),
         (long)tap, frames);
    break;
  default:
    CALL(AudioQueueProcessingTapGetQueueTime(any(TAPS), &frame, &frames), frames);
    break;
  }
}

static void call_effects(AudioQueueRef queue) {
  AudioUnit units[4] = {any(UNITS), any(UNITS), any(UNITS), any(UNITS)};
  UInt32 count = below(5), bus = word();
  switch (below(3)) {
  case 0:
    CALL(CueQueueSetEffects(queue, count, units), (long)queue, count, (long)units[0]);
    break;
  case 1:
    CALL(CueQueueGetEffects(queue, &count, units), (long)queue, count);
    break;
  default:
    CALL(CueQueueSetMixer(queue, one_in(2) ? NULL : units[0], bus), (long)queue, (long)units[0],
         bus);
    break;
  }
}

static void call_offline(AudioQueueRef queue) {
  AudioStreamBasicDescription wanted = format();
  AudioTimeStamp time = stamp();
  AudioQueueBufferRef result = given[below((UInt32)COUNT(given))].buffer;
  UInt32 frames = amount();
  if (one_in(4)) {
    AudioChannelLayout *channels = bytes(1);
    layout(channels);
    CALL(AudioQueueSetOfflineRenderFormat(queue, one_in(4) ? NULL : &wanted,
                                          one_in(2) ? NULL : channels),
         (long)queue);
    return;
  }
  pthread_rwlock_rdlock(&memory_lock);
  if (is_alive(queue)) {
    AudioQueueBufferRef made = NULL;
    if (CALL(AudioQueueAllocateBuffer(queue, 4096, &made), (long)queue) == noErr && one_in(8))
      result = made;
    pthread_rwlock_unlock(&memory_lock);
    CALL(
        AudioQueueOfflineRender(queue, one_in(4) ? NULL : &time, one_in(2) ? result : made, frames),
        (long)queue, (long)result, frames);
    CALL(AudioQueueFreeBuffer(queue, made), (long)queue);
  } else {
    pthread_rwlock_unlock(&memory_lock);
  }
}

static void call_queue(void) {
  AudioQueueRef queue = any(QUEUES);
  AudioTimeStamp time = stamp();
  UInt32 frames = amount(), id = one_in(8) ? word() : ONE_OF(((UInt32[]){1, 2, 3, 4, 13}));
  Float32 value = real32();
  switch (below(24)) {
  case 0:
    queue = make_queue();
    give_buffer(queue);
    break;
  case 1:
  case 2:
  case 3:
    give_buffer(queue);
    break;
  case 4:
    call_tap(queue);
    break;
  case 5:
    call_effects(queue);
    break;
  case 6:
  case 7:
    call_offline(queue);
    break;
  case 8:
  case 9:
    CALL(AudioQueueStart(queue, one_in(2) ? NULL : &time), (long)queue);
    break;
  case 10:
    CALL(AudioQueuePrime(queue, frames, one_in(2) ? &frames : NULL), (long)queue, frames);
    break;
  case 11:
    CALL(AudioQueueStop(queue, one_in(2)), (long)queue);
    break;
  case 12:
    CALL(AudioQueuePause(queue), (long)queue);
    break;
  case 13:
    CALL(AudioQueueFlush(queue), (long)queue);
    break;
  case 14:
    CALL(AudioQueueReset(queue), (long)queue);
    break;
  case 15:
    CALL(AudioQueueGetParameter(queue, id, &value), (long)queue, id);
    break;
  case 16:
    CALL(AudioQueueSetParameter(queue, id, value), (long)queue, id);
    break;
  case 17:
    CALL(AudioQueueFreeBuffer(queue, given[below((UInt32)COUNT(given))].buffer), (long)queue);
    break;
  case 18:
    enqueue(queue, given[below((UInt32)COUNT(given))].buffer);
    break;
  case 19:
  case 20:
    call_queue_time(queue);
    break;
  default:
    call_queue_property(queue);
    break;
  }
}

// MARK: Units

static AudioComponent foreign;

static AudioComponent any_component(void) {
  static const OSType kinds[] = {'ahal', 'rioc', 'genr', 'conv', 'vari', 'tmpt', 'nutp',
                                 'mcmx', 'smxr', 'mxmx', '3dmx', '3dem', 'sspl', 'afpl',
                                 'nbeq', 'pmeq', 'lpas', 'ipeq', 'dely', 'lmtr', 'msyn'};
  AudioComponentDescription wanted = {0, ONE_OF(kinds), 0, 0, 0};
  if (one_in(8)) return foreign;
  if (one_in(16)) return (AudioComponent)(uintptr_t)(below(200) << 3);
  return CALL(AudioComponentFindNext(NULL, &wanted), wanted.componentSubType);
}

static OSStatus foreign_open(void *self, AudioComponentInstance instance) {
  (void)self, (void)instance;
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus foreign_close(void *self) {
  (void)self;
  return (OSStatus)word();
}

static OSStatus foreign_done(void *self) {
  (void)self;
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus foreign_info(void *self, AudioUnitPropertyID id, AudioUnitScope scope,
                             AudioUnitElement element, UInt32 *stated, Boolean *writable) {
  (void)self, (void)id, (void)scope, (void)element;
  if (stated) *stated = word();
  if (writable) *writable = one_in(2);
  return one_in(2) ? kAudioUnitErr_InvalidProperty : noErr;
}

static OSStatus foreign_parameter(void *self, AudioUnitParameterID id, AudioUnitScope scope,
                                  AudioUnitElement element, AudioUnitParameterValue *value) {
  (void)self, (void)id, (void)scope, (void)element;
  *value = real32();
  return one_in(8) ? (OSStatus)word() : noErr;
}

static OSStatus foreign_render(void *self, AudioUnitRenderActionFlags *flags,
                               const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                               AudioBufferList *samples) {
  return render(self, flags, time, bus, frames, samples);
}

static AudioComponentMethod foreign_lookup(SInt16 selector) {
  switch (selector) {
  case kAudioUnitInitializeSelect:
  case kAudioUnitUninitializeSelect:
  case kAudioUnitResetSelect:
    return (AudioComponentMethod)foreign_done;
  case kAudioUnitGetPropertyInfoSelect:
    return (AudioComponentMethod)foreign_info;
  case kAudioUnitGetParameterSelect:
    return (AudioComponentMethod)foreign_parameter;
  case kAudioUnitRenderSelect:
    return (AudioComponentMethod)foreign_render;
  default:
    return NULL;
  }
}

static AudioComponentPlugInInterface *foreign_factory(const AudioComponentDescription *wanted) {
  static AudioComponentPlugInInterface plugin = {foreign_open, foreign_close, foreign_lookup, NULL};
  (void)wanted;
  return one_in(16) ? NULL : &plugin;
}

static void call_component(void) {
  AudioComponent component = any_component();
  AudioComponentDescription wanted = {one_in(2) ? 0 : word(), 0, one_in(2) ? 0 : 'appl', word(),
                                      word()};
  AudioComponentInstance unit = NULL;
  CFStringRef name = NULL;
  UInt32 version;
  switch (below(12)) {
  case 0:
    CALL(AudioComponentFindNext(component, &wanted), (long)component);
    break;
  case 1:
    CALL(AudioComponentCount(&wanted), wanted.componentType);
    break;
  case 2:
    if (CALL(AudioComponentCopyName(component, &name), (long)component) == noErr) CFRelease(name);
    break;
  case 3:
    CALL(AudioComponentGetDescription(component, &wanted), (long)component);
    break;
  case 4:
    CALL(AudioComponentGetVersion(component, &version), (long)component);
    break;
  case 5:
    CALL(AudioComponentInstanceGetComponent(any(UNITS)));
    break;
  case 6:
    CALL(FindNextComponent(component, &wanted), (long)component);
    break;
  case 7:
    CALL(CountComponents(&wanted));
    break;
  case 8:
    CALL(GetComponentInfo(component, one_in(2) ? NULL : &wanted, NULL, NULL, NULL),
         (long)component);
    break;
  case 9:
    put(UNITS, CALL(OpenComponent(component), (long)component));
    break;
  case 10:
    CALL(OpenAComponent(component, &unit), (long)component);
    put(UNITS, unit);
    break;
  default:
    CALL(AudioComponentInstanceNew(component, &unit), (long)component);
    put(UNITS, unit);
    break;
  }
}

static ScheduledAudioSlice slices[1024];
static ScheduledAudioFileRegion regions[1024];
static atomic_uint next_slice, next_region;

/// A slice that no unit has; NULL if the next one is still in use.
static ScheduledAudioSlice *make_slice(void) {
  static float samples[2][512];
  static buffers all;
  ScheduledAudioSlice *slice = &slices[next_slice++ % COUNT(slices)];
  if (slice->mBufferList && !(slice->mFlags & kScheduledAudioSliceFlag_Complete)) return NULL;
  all.list.mNumberBuffers = 2;
  for (int i = 0; i < 2; i++)
    all.list.mBuffers[i] = (AudioBuffer){1, sizeof samples[i], samples[i]};
  *slice = (ScheduledAudioSlice){
      .mTimeStamp = stamp(),
      .mCompletionProc = one_in(8) ? NULL : slice_ended,
      .mNumberFrames = amount(),
      .mBufferList = &all.list,
  };
  return slice;
}

/// Stores a value of a property with pointers, and its size in `stated`. Returns its place: slices
/// and regions stay where they are. False for a property without pointers.
static bool put_unit_value(char **value, AudioUnitPropertyID id, UInt32 *stated) {
#define PUT(thing) (memcpy(*value, &thing, sizeof thing), *stated = sizeof thing, true)
  switch (id) {
  case kAudioUnitProperty_ClassInfo:
    put_object(*value, 'info');
    *stated = 8;
    return true;
  case kAudioUnitProperty_MakeConnection: {
    AudioUnitConnection connection = {any(UNITS), one_in(4) ? word() : 0, one_in(4) ? word() : 0};
    return PUT(connection);
  }
  case kAudioUnitProperty_SetRenderCallback:
  case kAudioOutputUnitProperty_SetInputCallback: {
    AURenderCallbackStruct callback = {one_in(8) ? NULL : render, NULL};
    return PUT(callback);
  }
  case kAudioUnitProperty_HostCallbacks: {
    HostCallbackInfo host = {NULL, one_in(8) ? NULL : beat, one_in(8) ? NULL : meter,
                             one_in(8) ? NULL : transport, NULL};
    return PUT(host);
  }
  case kAudioUnitProperty_CurrentPreset:
  case kAudioUnitProperty_PresentPreset: {
    AUPreset preset = {(SInt32)(one_in(2) ? word() : below(10) - 1), string()};
    return PUT(preset);
  }
  case kAudioUnitProperty_ElementName: {
    CFStringRef name = string();
    return PUT(name);
  }
  case kAudioUnitProperty_ScheduledFileIDs: {
    void *files[2] = {any(FILES), any(FILES)};
    return PUT(files);
  }
  case kAudioUnitProperty_ScheduleAudioSlice:
    *value = (char *)make_slice();
    *stated = *value ? sizeof slices[0] : 0;
    return true;
  case kAudioUnitProperty_ScheduledFileRegion: {
    ScheduledAudioFileRegion *region = &regions[next_region++ % COUNT(regions)];
    *region = (ScheduledAudioFileRegion){
        .mTimeStamp = stamp(),
        .mCompletionProc = one_in(8) ? NULL : region_ended,
        .mAudioFile = any(FILES),
        .mLoopCount = word(),
        .mStartFrame = one_in(2) ? 0 : whole(),
        .mFramesToPlay = amount(),
    };
    *value = (char *)region;
    *stated = sizeof *region;
    return true;
  }
  default:
    return false;
  }
#undef PUT
}

static void call_unit_property(AudioUnit unit) {
  static const AudioUnitPropertyID ids[] = {
      0,    1,    2,    3,    4,    6,    8,    11,   12,   13,     14,     16,     19,     20,
      21,   22,   23,   24,   26,   27,   28,   29,   30,   32,     33,     35,     36,     37,
      38,   51,   2000, 2001, 2002, 2003, 2005, 2006, 2007, 2200,   2201,   3006,   3007,   3009,
      3010, 3300, 3301, 3302, 3310, 3311, 3312, 3313, 3314, 'nsrt', 'fsiz', 'volm', 'mute', 'ltnc'};
  AudioUnitPropertyID id = one_in(16) ? word() : ONE_OF(ids);
  AudioUnitScope scope = one_in(16) ? word() : below(3);
  AudioUnitElement element = one_in(8) ? word() : below(3);
  UInt32 stated = size();
  Boolean writable;
  char *value = bytes(0);
  switch (below(6)) {
  case 0:
    CALL(AudioUnitGetPropertyInfo(unit, id, scope, element, one_in(4) ? NULL : &stated, &writable),
         (long)unit, id, scope, element);
    break;
  case 1:
    CALL(AudioUnitAddPropertyListener(unit, id, changed, NULL), (long)unit, id);
    break;
  case 2:
    if (one_in(2))
      CALL(AudioUnitRemovePropertyListener(unit, id, changed), (long)unit, id);
    else
      CALL(AudioUnitRemovePropertyListenerWithUserData(unit, id, changed, NULL), (long)unit, id);
    break;
  case 3: {
    // Objects are read whole: a part could not be released.
    UInt32 whole_size = stated;
    bool has_object = id == 0 || id == 16 || id == 24 || id == 30 || id == 33 || id == 35 ||
                      id == 38 || id == 4 || id == 36 || id == 28;
    if (has_object || id > 0xFFFF) {
      memset(value, 0, 256);
      if (id == 33 || id == 38 || id == 35)
        *(UInt32 *)(void *)value = one_in(4) ? word() : below(8);
      whole_size = 4096;
    }
    if (id > 0xFFFF && is_object(id)) return;
    if (CALL(AudioUnitGetProperty(unit, id, scope, element, value, &whole_size), (long)unit, id,
             scope, element, stated) == noErr &&
        has_object && id != 28 && id != 38)
      release_value(id, value);
    break;
  }
  default: {
    if (id > 0xFFFF && (is_object(id) || id == 'rnlp' || id == 'suse')) return;
    if (put_unit_value(&value, id, &stated)) {
      if (one_in(8)) stated = size_within(stated);
    } else if (one_in(2) &&
               CALL(AudioUnitGetPropertyInfo(unit, id, scope, element, &stated, NULL), (long)unit,
                    id) == noErr &&
               stated > ROOM) {
      stated = ROOM;
    }
    if (id == kAudioUnitProperty_StreamFormat && one_in(2)) {
      AudioStreamBasicDescription wanted = format();
      memcpy(value, &wanted, stated = sizeof wanted);
    }
    if (id == kAudioUnitProperty_AudioChannelLayout)
      stated = sized_layout((AudioChannelLayout *)(void *)value);
    if (id == kAudioUnitProperty_ScheduleStartTimeStamp) {
      AudioTimeStamp time = stamp();
      memcpy(value, &time, stated = sizeof time);
    }
    OSStatus status =
        CALL(AudioUnitSetProperty(unit, id, scope, element, one_in(64) ? NULL : value, stated),
             (long)unit, id, scope, element, stated);
    if (id == kAudioUnitProperty_ScheduleAudioSlice && value && status != noErr)
      ((ScheduledAudioSlice *)(void *)value)->mFlags = kScheduledAudioSliceFlag_Complete;
    break;
  }
  }
}

static void call_music(AudioUnit unit) {
  union {
    MIDIEventList list;
    char room[2048];
  } all;
  memset(&all, 0, sizeof all);
  UInt32 status = one_in(2) ? word() : 0x80 + below(128), offset = amount();
  MIDIEventPacket *at;
  switch (below(4)) {
  case 0: {
    UInt32 first = one_in(4) ? word() : below(128), second = one_in(4) ? word() : below(128);
    CALL(MusicDeviceMIDIEvent(unit, status, first, second, offset), (long)unit, status, first,
         second, offset);
    break;
  }
  case 1: {
    UInt32 length = size();
    CALL(MusicDeviceSysEx(unit, bytes(0), length), (long)unit, length);
    break;
  }
  case 2: {
    MusicDeviceNoteParams note = {2, (Float32)below(300), (Float32)below(200), {{0, 0}}};
    NoteInstanceID instance = word();
    CALL(MusicDeviceStartNote(unit, one_in(8) ? word() : kMusicNoteEvent_UseGroupInstrument,
                              below(20), &instance, offset, &note),
         (long)unit);
    CALL(MusicDeviceStopNote(unit, below(20), instance, offset), (long)unit, instance);
    break;
  }
  default:
    at = CALL(MIDIEventListInit(&all.list, one_in(4) ? (MIDIProtocolID)word() : 1 + below(2)));
    for (UInt32 i = below(8); at && i > 0; i--) {
      size_t room = one_in(8) ? below(sizeof all) : sizeof all, words = below(70);
      at = CALL(MIDIEventListAdd(&all.list, room, at, draw(), words, bytes(1)), (long)room,
                (long)words);
    }
    if (one_in(4)) all.list.packet[0].words[0] = word();
    CALL(MusicDeviceMIDIEventList(unit, offset, &all.list), (long)unit, offset);
    break;
  }
}

static void call_unit_listener(void) {
  AUEventListenerRef listener = any(LISTENERS), made = NULL;
  AudioUnitParameter parameter = {any(UNITS), one_in(4) ? word() : below(8),
                                  one_in(8) ? word() : below(3), one_in(4) ? word() : 0};
  AudioUnitEvent event;
  memset(&event, 0, sizeof event);
  event.mEventType = one_in(8) ? word() : below(4);
  event.mArgument.mParameter = parameter;
  Float32 interval = real32(), granularity = real32(), value = real32();
  CFRunLoopRef on = one_in(2) ? loop : NULL;
  UInt32 offset = amount();
  void *object = (void *)(uintptr_t)below(3);
  switch (below(11)) {
  case 0:
    CALL(AUListenerCreate(heard_value, NULL, on, NULL, interval, &made));
    put(LISTENERS, made);
    break;
  case 1:
    CALL(AUEventListenerCreate(heard, NULL, on, one_in(2) ? NULL : kCFRunLoopDefaultMode, interval,
                               granularity, &made));
    put(LISTENERS, made);
    break;
  case 2:
    CALL(AUListenerAddParameter(listener, object, &parameter), (long)listener);
    break;
  case 3:
    CALL(AUListenerRemoveParameter(listener, object, &parameter), (long)listener);
    break;
  case 4:
    CALL(AUParameterListenerNotify(listener, object, &parameter), (long)listener);
    break;
  case 5:
    CALL(AUEventListenerAddEventType(listener, object, &event), (long)listener, event.mEventType);
    break;
  case 6:
    CALL(AUEventListenerRemoveEventType(listener, object, &event), (long)listener);
    break;
  case 7:
    CALL(AUEventListenerNotify(listener, object, &event), (long)listener);
    break;
  case 8:
    CALL(AUListenerDispose(listener), (long)listener);
    break;
  default:
    CALL(AUParameterSet(listener, object, &parameter, value, offset), (long)parameter.mAudioUnit,
         parameter.mParameterID, parameter.mScope, parameter.mElement, offset);
    break;
  }
}

static void render_unit(AudioUnit unit) {
  AudioTimeStamp time = one_in(2) ? at_frame((double)below(1 << 20)) : stamp();
  AudioUnitRenderActionFlags flags = one_in(4) ? word() : 0;
  UInt32 bus = one_in(8) ? word() : 0, frames = amount();
  AudioBufferList *samples = one_in(2) ? list_of(1 + below(2), 1, 8192, false) : list();
  const AudioBufferList *inputs[2] = {list(), samples};
  AudioBufferList *outputs[2] = {samples, samples};
  switch (below(4)) {
  case 0:
    CALL(AudioUnitProcess(unit, &flags, &time, frames, samples), (long)unit, frames);
    break;
  case 1: {
    UInt32 number_of_inputs = below(3), number_of_outputs = below(3);
    CALL(AudioUnitProcessMultiple(unit, &flags, &time, frames, number_of_inputs, inputs,
                                  number_of_outputs, outputs),
         (long)unit, frames, number_of_inputs, number_of_outputs);
    break;
  }
  default:
    CALL(AudioUnitRender(unit, one_in(4) ? NULL : &flags, &time, bus, frames, samples), (long)unit,
         bus, frames, samples->mNumberBuffers);
    break;
  }
}

static void schedule_parameters(AudioUnit unit) {
  AudioUnitParameterEvent events[8];
  UInt32 count = below(9);
  for (UInt32 i = 0; i < count; i++) {
    memset(&events[i], 0, sizeof events[i]);
    events[i].scope = one_in(8) ? word() : below(3);
    events[i].element = one_in(8) ? word() : 0;
    events[i].parameter = one_in(4) ? word() : below(8);
    events[i].eventType = one_in(8) ? word() : 1 + below(2);
    events[i].eventValues.ramp.startBufferOffset = (SInt32)amount();
    events[i].eventValues.ramp.durationInFrames = amount();
    events[i].eventValues.ramp.startValue = real32();
    events[i].eventValues.ramp.endValue = real32();
    if (one_in(2)) events[i].eventValues.immediate.value = real32();
  }
  CALL(AudioUnitScheduleParameters(unit, events, count), (long)unit, count);
}

static void call_unit(void) {
  AudioUnit unit = any(UNITS);
  UInt32 id = one_in(4) ? word() : below(8), scope = one_in(8) ? word() : below(3),
         element = one_in(8) ? word() : below(2), offset = one_in(2) ? 0 : amount();
  Float32 value = real32();
  switch (below(24)) {
  case 0:
    if (!nesting) call_component();
    break;
  case 1:
    CALL(AudioUnitInitialize(unit), (long)unit);
    break;
  case 2:
    if (one_in(4)) CALL(AudioUnitUninitialize(unit), (long)unit);
    break;
  case 3:
    CALL(AudioUnitReset(unit, scope, element), (long)unit, scope, element);
    break;
  case 4:
    CALL(AudioUnitAddRenderNotify(unit, render, (void *)(uintptr_t)below(2)), (long)unit);
    break;
  case 5:
    CALL(AudioUnitRemoveRenderNotify(unit, render, (void *)(uintptr_t)below(2)), (long)unit);
    break;
  case 6:
  case 7:
    if (CALL(AudioUnitGetParameter(unit, id, scope, element, &value), (long)unit, id, scope,
             element) == noErr)
      (void)value;
    break;
  case 8:
  case 9:
    CALL(AudioUnitSetParameter(unit, id, scope, element, value, offset), (long)unit, id, scope,
         element, offset);
    break;
  case 10:
    schedule_parameters(unit);
    break;
  case 11:
    call_music(unit);
    break;
  case 12:
    CALL(AudioOutputUnitStart(unit), (long)unit);
    break;
  case 13:
    CALL(AudioOutputUnitStop(unit), (long)unit);
    break;
  case 14:
    call_unit_listener();
    break;
  case 15:
  case 16:
  case 17:
  case 18:
    render_unit(unit);
    break;
  default:
    call_unit_property(unit);
    break;
  }
}

// MARK: Graphs

static void call_graph_nodes(AUGraph graph) {
  static const OSType kinds[] = {'genr', 'conv', 'vari', 'mcmx', 'mxmx', 'sspl', 'ahal', 'what'};
  AudioComponentDescription wanted = {0, ONE_OF(kinds), 0, 0, 0};
  AUNode node = (AUNode)(one_in(8) ? word() : 1 + below(6)), other = (AUNode)(1 + below(6));
  UInt32 from = one_in(4) ? word() : 0, to = one_in(4) ? word() : below(3), count = word();
  AURenderCallbackStruct callback = {one_in(8) ? NULL : render, NULL};
  AUNodeInteraction interactions[8];
  AudioUnit unit;
  void *data = NULL;
  switch (below(14)) {
  case 0:
    CALL(AUGraphNewNode(graph, &wanted, 0, NULL, &node), (long)graph);
    break;
  case 1:
    if (one_in(4)) CALL(AUGraphRemoveNode(graph, node), (long)graph, node);
    break;
  case 2:
    CALL(AUGraphGetNodeCount(graph, &count), (long)graph);
    // No graph gets too large.
    if (count > 8 && count < 0x10000) CALL(AUGraphRemoveNode(graph, node), (long)graph, node);
    break;
  case 3:
    CALL(AUGraphGetIndNode(graph, count, &node), (long)graph, count);
    break;
  case 4:
    CALL(AUGraphNodeInfo(graph, node, one_in(4) ? NULL : &wanted, one_in(4) ? NULL : &unit),
         (long)graph, node);
    break;
  case 5:
    CALL(AUGraphGetNodeInfo(graph, node, &wanted, &count, &data, &unit), (long)graph, node);
    break;
  case 6:
    CALL(AUGraphSetNodeInputCallback(graph, node, to, &callback), (long)graph, node, to);
    break;
  case 7:
    CALL(AUGraphDisconnectNodeInput(graph, node, to), (long)graph, node, to);
    break;
  case 8:
    CALL(AUGraphGetNumberOfInteractions(graph, &count), (long)graph);
    break;
  case 9:
    CALL(AUGraphGetInteractionInfo(graph, count, interactions), (long)graph, count);
    break;
  case 10:
    CALL(AUGraphCountNodeInteractions(graph, node, &count), (long)graph, node);
    break;
  case 11:
    count = below(9);
    CALL(AUGraphGetNodeInteractions(graph, node, &count, interactions), (long)graph, node, count);
    break;
  case 12:
    CALL(AUGraphAddNode(graph, &wanted, &node), (long)graph);
    break;
  default:
    CALL(AUGraphConnectNodeInput(graph, node, from, other, to), (long)graph, node, from, other, to);
    break;
  }
}

/// Gives a graph an output unit and a mixer.
static void prepare_graph(AUGraph graph) {
  AudioComponentDescription output = describe(kAudioUnitType_Output, kAudioUnitSubType_HALOutput);
  AudioComponentDescription mixer =
      describe(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer);
  AURenderCallbackStruct callback = {render, NULL};
  AUNode nodes[2] = {0, 0};
  CALL(AUGraphAddNode(graph, &output, &nodes[0]), (long)graph);
  CALL(AUGraphAddNode(graph, &mixer, &nodes[1]), (long)graph);
  CALL(AUGraphOpen(graph), (long)graph);
  CALL(AUGraphConnectNodeInput(graph, nodes[1], 0, nodes[0], 0), (long)graph);
  CALL(AUGraphSetNodeInputCallback(graph, nodes[1], 0, &callback), (long)graph);
  CALL(AUGraphInitialize(graph), (long)graph);
}

static void call_graph(void) {
  AUGraph graph = any(GRAPHS), made = NULL;
  Boolean answer;
  Float32 load;
  switch (below(24)) {
  case 0:
    CALL(NewAUGraph(&made));
    if (one_in(2)) prepare_graph(made);
    put(GRAPHS, made);
    break;
  case 1:
    CALL(AUGraphClearConnections(graph), (long)graph);
    break;
  case 2:
    CALL(AUGraphUpdate(graph, one_in(2) ? NULL : &answer), (long)graph);
    break;
  case 3:
    CALL(AUGraphOpen(graph), (long)graph);
    break;
  case 4:
    CALL(AUGraphClose(graph), (long)graph);
    break;
  case 5:
    CALL(AUGraphInitialize(graph), (long)graph);
    break;
  case 6:
    CALL(AUGraphUninitialize(graph), (long)graph);
    break;
  case 7:
    CALL(AUGraphStart(graph), (long)graph);
    break;
  case 8:
    CALL(AUGraphStop(graph), (long)graph);
    break;
  case 9:
    CALL(AUGraphIsOpen(graph, &answer), (long)graph);
    CALL(AUGraphIsInitialized(graph, &answer), (long)graph);
    CALL(AUGraphIsRunning(graph, &answer), (long)graph);
    break;
  case 10:
    CALL(AUGraphGetCPULoad(graph, &load), (long)graph);
    CALL(AUGraphGetMaxCPULoad(graph, &load), (long)graph);
    break;
  case 11:
    CALL(AUGraphAddRenderNotify(graph, render, NULL), (long)graph);
    break;
  case 12:
    CALL(AUGraphRemoveRenderNotify(graph, render, NULL), (long)graph);
    break;
  case 13:
    if (one_in(4)) {
      FILE *nothing = fopen("/dev/null", "w");
      DO(CAShowFile(any(one_in(2) ? GRAPHS : UNITS), nothing));
      fclose(nothing);
    }
    break;
  default:
    call_graph_nodes(graph);
    break;
  }
}

// MARK: Sequences

static MusicTimeStamp any_beat(void) {
  return one_in(4) ? real64() : (double)below(64) / 4;
}

/// An event whose data are at most as long as the memory of it.
static void *event(UInt32 type) {
  UInt8 *data = bytes(2);
  UInt32 length = one_in(16) ? 5000 : below(16);
  if (type == kMusicEventType_Meta)
    memcpy(data + 4, &length, 4);
  else if (type == kMusicEventType_MIDIRawData || type == kMusicEventType_User)
    memcpy(data, &length, 4);
  else if (type == kMusicEventType_MIDINoteMessage && !one_in(4))
    *(MIDINoteMessage *)(void *)data =
        (MIDINoteMessage){(UInt8)below(16), (UInt8)below(128), (UInt8)below(128), 0, real32()};
  return data;
}

static void happened_in_music(void *data, MusicSequence sequence, MusicTrack track,
                              MusicTimeStamp time, const MusicEventUserData *told,
                              MusicTimeStamp start, MusicTimeStamp end) {
  (void)data, (void)time, (void)start, (void)end;
  UInt32 count;
  CHECK(told->length <= 5000);
  CALL(MusicSequenceGetTrackCount(sequence, &count), (long)sequence);
  CALL(MusicTrackClear(track, 0, any_beat()), (long)track);
}

static void call_iterator(void) {
  MusicEventIterator iterator = any(ITERATORS), made = NULL;
  MusicTrack track = any(TRACKS);
  MusicTimeStamp time = any_beat();
  UInt32 type = below(11), size;
  const void *data;
  Boolean answer;
  switch (below(10)) {
  case 0:
    CALL(NewMusicEventIterator(track, &made), (long)track);
    put(ITERATORS, made);
    break;
  case 1:
    CALL(MusicEventIteratorSeek(iterator, time), (long)iterator);
    break;
  case 2:
    CALL(MusicEventIteratorNextEvent(iterator), (long)iterator);
    break;
  case 3:
    CALL(MusicEventIteratorPreviousEvent(iterator), (long)iterator);
    break;
  case 4:
    CALL(MusicEventIteratorSetEventInfo(iterator, type, event(type)), (long)iterator, type);
    break;
  case 5:
    CALL(MusicEventIteratorDeleteEvent(iterator), (long)iterator);
    break;
  case 6:
    CALL(MusicEventIteratorSetEventTime(iterator, time), (long)iterator);
    break;
  case 7:
    CALL(MusicEventIteratorHasPreviousEvent(iterator, &answer), (long)iterator);
    CALL(MusicEventIteratorHasNextEvent(iterator, &answer), (long)iterator);
    CALL(MusicEventIteratorHasCurrentEvent(iterator, &answer), (long)iterator);
    break;
  default:
    CALL(MusicEventIteratorGetEventInfo(iterator, &time, &type, &data, &size), (long)iterator);
    break;
  }
}

static MIDIEndpointRef any_endpoint(void);

static void call_track(void) {
  MusicTrack track = any(TRACKS), other = any(TRACKS);
  MusicSequence sequence;
  MusicTimeStamp start = any_beat(), end = any_beat(), time = any_beat();
  UInt32 id = one_in(8) ? word() : below(7), length = one_in(2) ? 16 : size_within(64);
  AUNode node = (AUNode)below(4);
  MIDIEndpointRef endpoint = 0;
  switch (below(22)) {
  case 0:
    CALL(MusicTrackGetSequence(track, &sequence), (long)track);
    break;
  case 1:
    CALL(MusicTrackSetDestNode(track, node), (long)track, node);
    break;
  case 2:
    CALL(MusicTrackGetDestNode(track, &node), (long)track);
    break;
  case 3:
  case 4:
    CALL(MusicTrackSetProperty(track, id, bytes(0), length), (long)track, id, length);
    break;
  case 5:
    CALL(MusicTrackGetProperty(track, id, one_in(4) ? NULL : bytes(0), &length), (long)track, id);
    break;
  case 6:
    CALL(MusicTrackMoveEvents(track, start, end, time), (long)track);
    break;
  case 7:
    CALL(MusicTrackClear(track, start, end), (long)track);
    break;
  case 8:
    CALL(MusicTrackCut(track, start, end), (long)track);
    break;
  case 9:
    // Copies of copies would not end.
    CALL(MusicTrackClear(other, 0, 1000), (long)other);
    CALL(MusicTrackCopyInsert(track, start, end, other, time), (long)track, (long)other);
    break;
  case 10:
    CALL(MusicTrackClear(other, 0, 1000), (long)other);
    CALL(MusicTrackMerge(track, start, end, other, time), (long)track, (long)other);
    break;
  case 11:
    CALL(MusicTrackNewMIDIChannelEvent(track, time, event(kMusicEventType_MIDIChannelMessage)),
         (long)track);
    break;
  case 12:
    CALL(MusicTrackNewMIDIRawDataEvent(track, time, event(kMusicEventType_MIDIRawData)),
         (long)track);
    break;
  case 13:
    CALL(MusicTrackNewExtendedNoteEvent(track, time, event(kMusicEventType_ExtendedNote)),
         (long)track);
    break;
  case 14:
    CALL(MusicTrackNewParameterEvent(track, time, event(kMusicEventType_Parameter)), (long)track);
    break;
  case 15:
    CALL(MusicTrackNewExtendedTempoEvent(track, time, one_in(2) ? real64() : 60 + below(100)),
         (long)track);
    break;
  case 16:
    CALL(MusicTrackNewMetaEvent(track, time, event(kMusicEventType_Meta)), (long)track);
    break;
  case 17:
    CALL(MusicTrackNewUserEvent(track, time, event(kMusicEventType_User)), (long)track);
    break;
  case 18:
    endpoint = any_endpoint();
    CALL(MusicTrackSetDestMIDIEndpoint(track, endpoint), (long)track, (long)endpoint);
    break;
  case 19:
    CALL(MusicTrackGetDestMIDIEndpoint(track, &endpoint), (long)track);
    break;
  default:
    CALL(MusicTrackNewMIDINoteEvent(track, time, event(kMusicEventType_MIDINoteMessage)),
         (long)track);
    break;
  }
}

static void call_player(void) {
  MusicPlayer player = any(PLAYERS), made = NULL;
  MusicSequence sequence = any(SEQUENCES);
  MusicTimeStamp time = any_beat();
  UInt64 host;
  Boolean answer;
  switch (below(12)) {
  case 0:
    CALL(NewMusicPlayer(&made));
    put(PLAYERS, made);
    break;
  case 1:
    CALL(MusicPlayerSetSequence(player, one_in(4) ? NULL : sequence), (long)player, (long)sequence);
    break;
  case 2:
    CALL(MusicPlayerGetSequence(player, &sequence), (long)player);
    break;
  case 3:
    CALL(MusicPlayerSetTime(player, time), (long)player);
    break;
  case 4:
    CALL(MusicPlayerGetTime(player, &time), (long)player);
    break;
  case 5:
    CALL(MusicPlayerGetHostTimeForBeats(player, time, &host), (long)player);
    CALL(MusicPlayerGetBeatsForHostTime(player, host, &time), (long)player);
    break;
  case 6:
    CALL(MusicPlayerPreroll(player), (long)player);
    break;
  case 7:
    CALL(MusicPlayerStop(player), (long)player);
    break;
  case 8:
    CALL(MusicPlayerIsPlaying(player, &answer), (long)player);
    break;
  case 9:
    CALL(MusicPlayerSetPlayRateScalar(player, real64()), (long)player);
    CALL(MusicPlayerGetPlayRateScalar(player, &time), (long)player);
    break;
  default:
    CALL(MusicPlayerStart(player), (long)player);
    break;
  }
}

static CFURLRef song_url;

static void call_sequence(void) {
  MusicSequence sequence = any(SEQUENCES), made = NULL;
  MusicTrack track = any(TRACKS), added = NULL;
  MusicSequenceType type = one_in(4) ? word() : kMusicSequenceType_Beats;
  AUGraph graph = any(GRAPHS);
  UInt32 count = 0;
  Float64 value = real64();
  CABarBeatTime bar;
  CFDataRef data = NULL;
  CFDictionaryRef info;
  switch (below(36)) {
  case 0:
    CALL(NewMusicSequence(&made));
    CALL(MusicSequenceNewTrack(made, &added), (long)made);
    put(TRACKS, added);
    CALL(MusicSequenceSetAUGraph(made, graph), (long)made, (long)graph);
    put(SEQUENCES, made);
    break;
  case 1:
    CALL(MusicSequenceGetTrackCount(sequence, &count), (long)sequence);
    if (count < 16) CALL(MusicSequenceNewTrack(sequence, &added), (long)sequence);
    put(TRACKS, added);
    break;
  case 2:
    CALL(MusicSequenceDisposeTrack(sequence, track), (long)sequence, (long)track);
    if (one_in(4)) CALL(MusicSequenceSetMIDIEndpoint(sequence, any_endpoint()), (long)sequence);
    break;
  case 3:
    CALL(MusicSequenceGetIndTrack(sequence, below(4), &added), (long)sequence);
    break;
  case 4:
    CALL(MusicSequenceGetTrackIndex(sequence, track, &count), (long)sequence, (long)track);
    break;
  case 5:
    CALL(MusicSequenceGetTempoTrack(sequence, &added), (long)sequence);
    put(TRACKS, added);
    break;
  case 6:
    CALL(MusicSequenceSetAUGraph(sequence, one_in(4) ? NULL : graph), (long)sequence, (long)graph);
    break;
  case 7:
    CALL(MusicSequenceGetAUGraph(sequence, &graph), (long)sequence);
    break;
  case 8:
    CALL(MusicSequenceSetSequenceType(sequence, type), (long)sequence, type);
    CALL(MusicSequenceGetSequenceType(sequence, &type), (long)sequence);
    break;
  case 9:
    CALL(MusicSequenceFileCreate(sequence, song_url, below(2) ? 'midi' : 0, below(2),
                                 (SInt16)word()),
         (long)sequence);
    CALL(MusicSequenceGetTrackCount(sequence, &count), (long)sequence);
    if (count < 8) CALL(MusicSequenceFileLoad(sequence, song_url, 0, below(3)), (long)sequence);
    break;
  case 10:
    CALL(MusicSequenceFileCreateData(sequence, 'midi', 0, (SInt16)word(), &data), (long)sequence);
    CALL(MusicSequenceGetTrackCount(sequence, &count), (long)sequence);
    if (data && count < 8)
      CALL(MusicSequenceFileLoadData(sequence, data, 0, below(2)), (long)sequence);
    if (data) CFRelease(data);
    break;
  case 11:
    CALL(MusicSequenceReverse(sequence), (long)sequence);
    break;
  case 12:
    CALL(MusicSequenceGetSecondsForBeats(sequence, value, &value), (long)sequence);
    CALL(MusicSequenceGetBeatsForSeconds(sequence, value, &value), (long)sequence);
    break;
  case 13:
    CALL(MusicSequenceSetUserCallback(sequence, one_in(4) ? NULL : happened_in_music, NULL),
         (long)sequence);
    break;
  case 14:
    CALL(MusicSequenceBeatsToBarBeatTime(sequence, value, word(), &bar), (long)sequence);
    memcpy(&bar, bytes(0), sizeof bar);
    CALL(MusicSequenceBarBeatTimeToBeats(sequence, &bar, &value), (long)sequence);
    break;
  case 15:
    info = CALL(MusicSequenceGetInfoDictionary(sequence), (long)sequence);
    if (info) CFRelease(info);
    break;
  case 16:
  case 17:
  case 18:
  case 19:
  case 20:
    call_player();
    break;
  case 21:
  case 22:
  case 23:
  case 24:
  case 25:
    call_iterator();
    break;
  default:
    call_track();
    break;
  }
}

// MARK: Devices

static const UInt32 object_ids[] = {
    'dev#', 'dIn ', 'dOut', 'sOut', 'uidd', 'duid', 'plg#', 'bidp', 'pibi', 'srst', 'hogr', 'bcls',
    'clas', 'stdv', 'lnam', 'lmod', 'lmak', 'lchn', 'lccn', 'lcnn', 'snum', 'fwvn', 'ownd', 'uid ',
    'muid', 'capp', 'tran', 'akin', 'clkd', 'livn', 'diff', 'goin', 'gone', 'dflt', 'sflt', 'ltnc',
    'stm#', 'ctrl', 'saft', 'nsrt', 'nsr#', 'asrt', 'hidn', 'dch2', 'srnd', 'slay', 'fsiz', 'fsz#',
    'vfsz', 'ncyc', 'oink', 'over', 'volm', 'vold', 'vdb#', 'v2db', 'db2v', 'mute', 'ssrc', 'ssc#',
    'lscn', 'sact', 'sdir', 'term', 'schn', 'sfmt', 'sfma', 'pft ', 'pfta', 'name', 'makr', 'chnm',
    'bsiz', 'bsz#', 'mix?', 'sfm#', 'sfm?', 'sfmm', 'pft#', 'pft?', 'pftm', 'vmvc', 'suse'};

static AudioObjectID any_object(void) {
  static atomic_uint objects[8];
  static atomic_bool is_known;
  if (!is_known || one_in(100)) {
    AudioObjectPropertyAddress address = {'dev#', 'glob', 0};
    UInt32 room = 4;
    AudioObjectID device = 0, streams[2] = {0};
    CALL(AudioObjectGetPropertyData(1, &address, 0, NULL, &room, &device));
    address.mSelector = 'stm#';
    room = sizeof streams;
    CALL(AudioObjectGetPropertyData(device, &address, 0, NULL, &room, streams), device);
    objects[0] = objects[1] = objects[2] = device;
    objects[3] = streams[0];
    objects[4] = streams[1];
    objects[5] = 1;
    is_known = true;
  }
  return one_in(8) ? word() : objects[below(6)];
}

static AudioObjectPropertyAddress address(void) {
  static const UInt32 scopes[] = {'glob', 'inpt', 'outp', 'ptru', 0xFFFFFFFF};
  return (AudioObjectPropertyAddress){one_in(16) ? word() : ONE_OF(object_ids),
                                      one_in(16) ? word() : ONE_OF(scopes),
                                      one_in(8) ? word() : below(3)};
}

static void object_changed(AudioObjectID object, const AudioObjectPropertyAddress *changes) {
  Boolean answer;
  CALL(AudioObjectIsPropertySettable(object, changes, &answer), object, changes->mSelector);
}

/// Stores the value that a question brings, or a new value. Returns its size.
static UInt32 put_object_value(char *value, UInt32 id) {
  static const UInt32 translations[] = {'duid', 'pibi', 'lscn'};
  static _Thread_local AudioObjectID answer[4];
  static _Thread_local CFStringRef asked;
  for (size_t i = 0; i < COUNT(translations); i++)
    if (id == translations[i]) {
      UInt32 source = word();
      asked = string();
      AudioValueTranslation translation = {&asked, 8, answer, one_in(4) ? below(16) : 8};
      if (id == 'lscn') memcpy(&asked, &source, sizeof source);
      if (id == 'lscn') translation.mInputDataSize = 4;
      memcpy(value, &translation, sizeof translation);
      return sizeof translation;
    }
  if (id == 'suse') {
    memset(value, 0, 64);
    ((AudioHardwareIOProcStreamUsage *)(void *)value)->mIOProc = any(PROCEDURES);
    ((AudioHardwareIOProcStreamUsage *)(void *)value)->mNumberStreams = below(8);
    return one_in(2) ? 64 : size_within(64);
  }
  if (is_object(id)) {
    put_object(value, id);
    return 8;
  }
  if ((id == 'sfmt' || id == 'pft ' || id == 'sfm?' || id == 'sfmm') && one_in(2)) {
    AudioStreamBasicDescription wanted = format();
    memcpy(value, &wanted, sizeof wanted);
    return sizeof wanted;
  }
  return size();
}

static void release_object_value(char *value, UInt32 id, UInt32 stated) {
  if (is_object(id) && stated == 8) release(value);
  if (id != 'lscn') return;
  AudioValueTranslation translation;
  memcpy(&translation, value, sizeof translation);
  if (stated == sizeof translation && translation.mOutputDataSize == 8)
    release(translation.mOutputData);
}

static void call_object(void) {
  AudioObjectID object = any_object();
  AudioObjectPropertyAddress at = address();
  char *value = bytes(0);
  UInt32 stated = put_object_value(value, at.mSelector), needed;
  CFStringRef name = string();
  // Objects of classes, or a name.
  bool has_name = at.mSelector == 'uidd' || at.mSelector == 'bidp';
  UInt32 of_qualifier = has_name ? 8 : one_in(2) ? 0 : size();
  const void *qualifier = has_name ? (const void *)&name : bytes(1);
  Boolean answer;
  bool by_service = one_in(4);
  switch (below(10)) {
  case 0:
    if (by_service)
      CALL(AudioHardwareServiceHasProperty(object, &at), object, at.mSelector);
    else
      CALL(AudioObjectHasProperty(object, &at), object, at.mSelector);
    break;
  case 1:
    if (by_service)
      CALL(AudioHardwareServiceIsPropertySettable(object, &at, &answer), object, at.mSelector);
    else
      CALL(AudioObjectIsPropertySettable(object, &at, &answer), object, at.mSelector);
    break;
  case 2:
    if (by_service)
      CALL(AudioHardwareServiceGetPropertyDataSize(object, &at, of_qualifier, qualifier, &needed),
           object, at.mSelector, at.mScope, at.mElement, of_qualifier);
    else
      CALL(AudioObjectGetPropertyDataSize(object, &at, of_qualifier, qualifier, &needed), object,
           at.mSelector, at.mScope, at.mElement, of_qualifier);
    break;
  case 3:
    if (by_service)
      CALL(AudioHardwareServiceAddPropertyListener(object, &at, object_told, NULL), object,
           at.mSelector);
    else
      CALL(AudioObjectAddPropertyListener(object, &at, object_told, NULL), object, at.mSelector);
    break;
  case 4:
    if (by_service)
      CALL(AudioHardwareServiceRemovePropertyListener(object, &at, object_told, NULL), object,
           at.mSelector);
    else
      CALL(AudioObjectRemovePropertyListener(object, &at, object_told, NULL), object, at.mSelector);
    break;
  case 5: {
    static AudioObjectPropertyListenerBlock block;
    if (!block)
      block = ^(UInt32 count, const AudioObjectPropertyAddress *changes) {
        (void)count, (void)changes;
      };
    if (one_in(2))
      CALL(AudioObjectAddPropertyListenerBlock(object, &at, one_in(2) ? NULL : serial, block),
           object, at.mSelector);
    else
      CALL(AudioObjectRemovePropertyListenerBlock(object, &at, one_in(2) ? NULL : serial, block),
           object, at.mSelector);
    break;
  }
  case 6:
    // A server of another period or rate would disturb all.
    if (at.mSelector == 'fsiz' && one_in(2)) return;
    if (by_service)
      CALL(AudioHardwareServiceSetPropertyData(object, &at, of_qualifier, qualifier, stated, value),
           object, at.mSelector, at.mScope, at.mElement, stated);
    else
      CALL(AudioObjectSetPropertyData(object, &at, of_qualifier, qualifier, stated, value), object,
           at.mSelector, at.mScope, at.mElement, stated);
    break;
  default: {
    OSStatus status =
        by_service
            ? CALL(AudioHardwareServiceGetPropertyData(object, &at, of_qualifier, qualifier,
                                                       &stated, value),
                   object, at.mSelector, at.mScope, at.mElement, stated)
            : CALL(AudioObjectGetPropertyData(object, &at, of_qualifier, qualifier, &stated, value),
                   object, at.mSelector, at.mScope, at.mElement, stated);
    if (status == noErr) release_object_value(value, at.mSelector, stated);
    break;
  }
  }
}

static void call_old_object(void) {
  AudioObjectID object = any_object();
  UInt32 id = one_in(16) ? word() : ONE_OF(object_ids), channel = one_in(4) ? word() : below(3);
  char *value = bytes(0);
  UInt32 stated = put_object_value(value, id), needed;
  Boolean is_input = one_in(2), writable;
  AudioTimeStamp time = stamp();
  if (id == 'rnlp' || id == 'fsiz') return;
  switch (below(15)) {
  case 0:
    CALL(AudioHardwareGetPropertyInfo(id, &needed, &writable), id);
    break;
  case 1:
    if (CALL(AudioHardwareGetProperty(id, &stated, value), id, stated) == noErr)
      release_object_value(value, id, stated);
    break;
  case 2:
    CALL(AudioHardwareSetProperty(id, stated, value), id, stated);
    break;
  case 3:
    CALL(AudioHardwareAddPropertyListener(id, hardware_told, NULL), id);
    break;
  case 4:
    CALL(AudioHardwareRemovePropertyListener(id, hardware_told), id);
    break;
  case 5:
    CALL(AudioDeviceGetPropertyInfo(object, channel, is_input, id, &needed, &writable), object,
         channel, id);
    break;
  case 6:
    if (CALL(AudioDeviceGetProperty(object, channel, is_input, id, &stated, value), object, channel,
             id, stated) == noErr)
      release_object_value(value, id, stated);
    break;
  case 7:
    CALL(AudioDeviceSetProperty(object, one_in(2) ? NULL : &time, channel, is_input, id, stated,
                                value),
         object, channel, id, stated);
    break;
  case 8:
    CALL(AudioDeviceAddPropertyListener(object, channel, is_input, id, device_told, NULL), object,
         channel, id);
    break;
  case 9:
    CALL(AudioDeviceRemovePropertyListener(object, channel, is_input, id, device_told), object,
         channel, id);
    break;
  case 10:
    CALL(AudioStreamGetPropertyInfo(object, channel, id, &needed, &writable), object, channel, id);
    break;
  case 11:
    if (CALL(AudioStreamGetProperty(object, channel, id, &stated, value), object, channel, id,
             stated) == noErr)
      release_object_value(value, id, stated);
    break;
  case 12:
    CALL(AudioStreamSetProperty(object, &time, channel, id, stated, value), object, channel, id,
         stated);
    break;
  case 13:
    CALL(AudioStreamAddPropertyListener(object, channel, id, stream_told, NULL), object, channel,
         id);
    break;
  default:
    CALL(AudioStreamRemovePropertyListener(object, channel, id, stream_told), object, channel, id);
    break;
  }
}

static void call_device(void) {
  AudioObjectID device = any_object();
  AudioDeviceIOProcID made = NULL, procedure = (AudioDeviceIOProcID)any(PROCEDURES);
  AudioTimeStamp time = stamp(), out = stamp();
  UInt32 flags = word();
  switch (below(14)) {
  case 0:
  case 1:
    CALL(AudioDeviceCreateIOProcID(device, io, (void *)(uintptr_t)below(3), &made), device);
    if (!made) return;
    made = (AudioDeviceIOProcID)atomic_exchange(&pool[PROCEDURES][below(SLOTS)], (void *)made);
    if (made) CALL(AudioDeviceDestroyIOProcID(device, made), device, (long)made);
    break;
  case 2:
    CALL(AudioDeviceDestroyIOProcID(device, procedure), device, (long)procedure);
    break;
  case 3:
  case 4:
    CALL(AudioDeviceStart(device, one_in(16) ? io : procedure), device, (long)procedure);
    break;
  case 5:
  case 6:
    CALL(AudioDeviceStop(device, one_in(16) ? io : procedure), device, (long)procedure);
    break;
  case 7:
    CALL(AudioDeviceGetCurrentTime(device, &out), device);
    break;
  case 8:
    CALL(AudioDeviceTranslateTime(device, &time, &out), device);
    break;
  case 9:
    CALL(AudioDeviceGetNearestStartTime(device, &time, flags), device, flags);
    CALL(AudioDeviceRead(device, &time, list()), device);
    break;
  case 10:
    CALL(AudioDeviceAddIOProc(device, io, NULL), device);
    break;
  case 11:
    CALL(AudioDeviceRemoveIOProc(device, io), device);
    break;
  case 12:
    CALL(AudioHardwareCreateAggregateDevice(ONE_OF(dictionaries), &device));
    CALL(AudioHardwareDestroyAggregateDevice(device), device);
    if (one_in(100)) CALL(AudioHardwareUnload());
    break;
  default:
    CALL(AudioGetCurrentHostTime());
    CALL(AudioGetHostClockFrequency());
    CALL(AudioGetHostClockMinimumTimeDelta());
    CALL(AudioConvertHostTimeToNanos((UInt64)whole()));
    CALL(AudioConvertNanosToHostTime((UInt64)whole()));
    break;
  }
}

// MARK: Converters and formats

static void call_converter(void) {
  static const UInt32 ids[] = {'mibs', 'mobs', 'xips', 'xops', 'cibs', 'cobs', 'srca', 'srcq',
                               'dith', 'dbit', 'cdqu', 'prmm', 'prim', 'chmp', 'dmgc', 'cmgc',
                               'brat', 'ajsr', 'icl ', 'ocl ', 'aebr', 'vebr', 'aecl', 'aesr',
                               'vesr', 'acod', 'acid', 'acbd', 'flst', 'dmix', 'mmap', 'crfi'};
  AudioConverterRef converter = borrow(CONVERTERS), made = NULL;
  AudioStreamBasicDescription from = format(), to = format();
  AudioClassDescription classes[4];
  UInt32 id = one_in(16) ? word() : ONE_OF(ids), stated = size(), count = amount();
  Boolean writable;
  char *value = bytes(0);
  switch (below(16)) {
  case 0:
  case 1:
    CALL(AudioConverterNew(&from, &to, &made), from.mFormatID, to.mFormatID);
    put(CONVERTERS, made);
    break;
  case 2:
    memcpy(classes, value, sizeof classes);
    count = below(5);
    CALL(AudioConverterNewSpecific(&from, &to, count, classes, &made), from.mFormatID, to.mFormatID,
         count);
    put(CONVERTERS, made);
    break;
  case 3:
    CALL(AudioConverterReset(converter), (long)converter);
    break;
  case 4:
    CALL(AudioConverterGetPropertyInfo(converter, id, &stated, &writable), (long)converter, id);
    break;
  case 5:
  case 6:
    CALL(AudioConverterGetProperty(converter, id, &stated, value), (long)converter, id, stated);
    break;
  case 7:
  case 8:
    if (id == 'icl ' || id == 'ocl ') stated = sized_layout((AudioChannelLayout *)(void *)value);
    CALL(AudioConverterSetProperty(converter, id, stated, value), (long)converter, id, stated);
    break;
  case 9:
  case 10: {
    UInt32 room = size();
    CALL(AudioConverterConvertBuffer(converter, stated, value, &room, bytes(1)), (long)converter,
         stated, room);
    break;
  }
  case 11: {
    AudioBufferList *input = list();
    CALL(AudioConverterConvertComplexBuffer(converter, count, input, list()), (long)converter,
         count);
    break;
  }
  case 12: {
    UInt32 room = size();
    CALL(AudioConverterFillBuffer(converter, supply_bytes, NULL, &room, bytes(1)), (long)converter,
         room);
    break;
  }
  default: {
    static _Thread_local AudioStreamPacketDescription described[256];
    bool is_described = one_in(2);
    if (is_described && count > 256) count = 256;
    CALL(AudioConverterFillComplexBuffer(converter, supply, NULL, &count, list(),
                                         is_described ? described : NULL),
         (long)converter, count);
    break;
  }
  }
  give_back(CONVERTERS, converter);
}

static void call_format(void) {
  static const UInt32 ids[] = {'fmti', 'fnam', 'acof', 'acif', 'flst', 'ofls', 'essd', 'escl',
                               'fpfl', 'fvbr', 'fexf', 'aven', 'avde', 'hwcc', 'aebr', 'aesr',
                               'avnc', 'aecl', 'chha', 'bmtg', 'mmap', 'chmp', 'nchm', 'cheq',
                               'vacl', 'cmpl', 'cmpt', 'lonm', 'cmpb', 'cnam', 'csnm', 'tagc'};
  UInt32 id = one_in(16) ? word() : ONE_OF(ids), stated = size(), room = size();
  char *specifier = bytes(0), *value = bytes(1);
  const void *pointers[2] = {bytes(2), bytes(3)};
  switch (id) {
  case 'flst':
  case 'ofls': {
    AudioFormatInfo info = {format(), bytes(2), size()};
    if (one_in(4)) info.mMagicCookie = NULL;
    memcpy(specifier, &info, stated = sizeof info);
    break;
  }
  case 'mmap':
  case 'chmp':
  case 'cheq':
    layout((AudioChannelLayout *)pointers[0]);
    layout((AudioChannelLayout *)pointers[1]);
    memcpy(specifier, pointers, sizeof pointers);
    stated = one_in(8) ? size_within(16) : 16;
    break;
  case 'chha':
  case 'nchm':
  case 'vacl':
  case 'cmpt':
  case 'lonm':
    stated = sized_layout((AudioChannelLayout *)(void *)specifier);
    break;
  default:
    if (one_in(2)) {
      AudioStreamBasicDescription wanted = format();
      memcpy(specifier, &wanted, stated = sizeof wanted);
    }
    break;
  }
  // A format that is completed is in the result.
  if (id == 'fmti') memcpy(value, specifier, sizeof(AudioStreamBasicDescription));
  if (one_in(4))
    CALL(AudioFormatGetPropertyInfo(id, stated, specifier, &room), id, stated);
  else if (CALL(AudioFormatGetProperty(id, stated, specifier, &room, value), id, stated, room) ==
               noErr &&
           is_object(id))
    release(value);
}

// MARK: Files

static const AudioFileTypeID types[] = {'AIFF', 'AIFC', 'WAVE', 'RF64', 'W64f', 'NeXT',
                                        'MPG3', 'MPG2', 'ac-3', 'adts', 'mp4f', 'm4af',
                                        'caff', '3gpp', 'amrf', 'flac', 'Oggf', 'Sd2f'};
static const UInt32 file_ids[] = {
    'ffmt', 'dfmt', 'flst', 'optm', 'mgic', 'bcnt', 'pcnt', 'psze', 'doff', 'cmap', 'dszu', 'fnme',
    'mkls', 'rgls', 'pkfr', 'frpk', 'rrap', 'nind', 'pkby', 'bypk', 'chid', 'info', 'pnfo', 'pkub',
    'rsrv', 'edur', 'brat', 'id3t', 'aart', 'sbtd', 'atct', 'uatk', 'redy', 'abpp'};

static char images[COUNT(types)][ROOM];
static UInt32 image_sizes[COUNT(types)];
static CFURLRef urls[16];

/// Writes a short file of each type that can be written, for those that read.
static void make_images(void) {
  for (size_t i = 0; i < COUNT(urls); i++) {
    char name[20];
    snprintf(name, sizeof name, "file%zu%s", i, i % 2 ? ".wav" : "");
    urls[i] = url_of(name);
  }
  static const AudioFormatID ids[] = {0, 'alac', 'aac ', '.mp3', 'flac', 'opus', 'ac-3'};
  for (size_t i = 0; i < COUNT(types); i++)
    for (size_t k = 0; k < COUNT(ids) && image_sizes[i] == 0; k++) {
      AudioStreamBasicDescription kind =
          ids[k] ? named(ids[k], RATE, 2)
                 : int16(RATE, 2, types[i] == 'AIFF' ? kAudioFormatFlagIsBigEndian : 0);
      AudioStreamBasicDescription client = float_format(RATE, 2);
      ExtAudioFileRef file = NULL;
      if (ExtAudioFileCreateWithURL(urls[0], types[i], &kind, NULL, kAudioFileFlags_EraseFile,
                                    &file))
        continue;
      AudioBufferList *samples = list_of(1, 2, 8192, true);
      ExtAudioFileSetProperty(file, kExtAudioFileProperty_ClientDataFormat, sizeof client, &client);
      for (int n = 0; n < 8; n++)
        ExtAudioFileWrite(file, 1024, samples);
      ExtAudioFileDispose(file);
      FILE *written = fopen(path_of("file0"), "rb");
      if (!written) continue;
      image_sizes[i] = (UInt32)fread(images[i], 1, ROOM, written);
      fclose(written);
    }
}

/// Copies one of the sound files into memory that belongs to the calling thread, and damages up to
/// seven places of half of them. Returns the size in bytes, which may be cut.
static UInt32 image(char **place) {
  static _Thread_local char memory[ROOM];
  size_t i = below((UInt32)COUNT(types));
  memcpy(memory, images[i], image_sizes[i]);
  UInt32 length = image_sizes[i];
  *place = memory;
  if (length == 0) return 0;
  for (UInt32 n = one_in(2) ? 0 : below(8); n > 0; n--) {
    UInt32 value = word(), at = one_in(2) ? below(length) : below(length < 200 ? length : 200);
    memcpy(&memory[at], &value, length - at < 4 ? 1 : 4);
  }
  return one_in(4) ? below(length + 1) : length;
}

/// A file of the caller's, whose functions may fail or lie.
static OSStatus read_source(void *data, SInt64 position, UInt32 count, void *buffer,
                            UInt32 *actual) {
  const Memory *memory = data;
  memset(buffer, 0, count);
  if (position >= 0 && position < memory->size) {
    SInt64 rest = memory->size - position;
    memcpy(buffer, memory->bytes + position, rest < (SInt64)count ? (size_t)rest : count);
    *actual = (UInt32)(rest < (SInt64)count ? rest : (SInt64)count);
  } else {
    *actual = 0;
  }
  if (one_in(32)) *actual = word();
  return one_in(32) ? (OSStatus)word() : noErr;
}

static OSStatus write_source(void *data, SInt64 position, UInt32 count, const void *buffer,
                             UInt32 *actual) {
  (void)data, (void)position, (void)buffer;
  *actual = one_in(16) ? word() : count;
  return one_in(16) ? (OSStatus)word() : noErr;
}

static SInt64 size_of_source(void *data) {
  return one_in(16) ? whole() : ((const Memory *)data)->size;
}

static OSStatus set_size_of_source(void *data, SInt64 length) {
  (void)data, (void)length;
  return one_in(8) ? (OSStatus)word() : noErr;
}

/// The callbacks' file stays as long as the program.
static Memory *make_source(void) {
  static Memory all[64];
  static char memories[64][ROOM];
  static atomic_uint next;
  UInt32 i = next++ % 64;
  char *place;
  UInt32 length = image(&place);
  memcpy(memories[i], place, length);
  all[i] = (Memory){memories[i], length, ROOM, noErr};
  return &all[i];
}

static void make_file(void) {
  AudioFileID file = NULL;
  AudioStreamBasicDescription wanted = format();
  AudioFileTypeID type = one_in(16) ? word() : ONE_OF(types);
  CFURLRef url = ONE_OF(urls);
  AudioFileFlags flags = one_in(4) ? word() : kAudioFileFlags_EraseFile;
  switch (below(4)) {
  case 0:
    CALL(AudioFileCreateWithURL(url, type, &wanted, flags, &file), type, wanted.mFormatID, flags);
    break;
  case 1:
    CALL(AudioFileOpenURL(url, (AudioFilePermissions)(one_in(8) ? word() : 1 + below(3)),
                          one_in(2) ? 0 : type, &file),
         type);
    break;
  case 2:
    CALL(AudioFileInitializeWithCallbacks(make_source(), read_source, write_source, size_of_source,
                                          set_size_of_source, type, &wanted, flags, &file),
         type, wanted.mFormatID, flags);
    break;
  default:
    CALL(AudioFileOpenWithCallbacks(make_source(), read_source, one_in(2) ? NULL : write_source,
                                    size_of_source, one_in(2) ? NULL : set_size_of_source,
                                    one_in(2) ? 0 : type, &file),
         type);
    break;
  }
  put(FILES, file);
}

/// How many packets of the file the memory of a thread has room for.
static UInt32 packets_within(AudioFileID file) {
  AudioStreamBasicDescription kind;
  UInt32 stated = sizeof kind, largest = 0, room = 4;
  if (CALL(AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &stated, &kind), (long)file))
    return 1;
  if (kind.mBytesPerPacket) return ROOM / kind.mBytesPerPacket;
  CALL(AudioFileGetProperty(file, 'pkub', &room, &largest), (long)file);
  return largest ? ROOM / largest : 0;
}

static void call_packets(AudioFileID file) {
  UInt32 most = packets_within(file), count = amount(), stated = size();
  SInt64 at = one_in(2) ? below(16) : whole();
  char *value = bytes(0);
  static _Thread_local AudioStreamPacketDescription described[256];
  bool is_described = one_in(2);
  switch (below(5)) {
  case 0:
    if (count > most) count = most;
    if (count > 256) count = 256;
    CALL(AudioFileReadPackets(file, one_in(2), &stated, is_described ? described : NULL, at, &count,
                              value),
         (long)file, at, count);
    break;
  case 1:
    if (is_described && count > 256) count = 256;
    CALL(AudioFileReadPacketData(file, one_in(2), &stated, is_described ? described : NULL, at,
                                 &count, value),
         (long)file, stated, at, count);
    break;
  case 2:
    if (count > most) count = most;
    if (count > PACKETS && is_described) count = PACKETS;
    CALL(AudioFileWritePackets(file, one_in(2), stated, is_described ? packets(stated) : NULL, at,
                               &count, value),
         (long)file, stated, at, count);
    break;
  case 3:
    CALL(AudioFileReadBytes(file, one_in(2), at, &stated, value), (long)file, at, stated);
    break;
  default:
    CALL(AudioFileWriteBytes(file, one_in(2), at, &stated, value), (long)file, at, stated);
    break;
  }
}

/// Stores markers or regions in memory of the stated size; their counts may promise more.
static UInt32 put_markers(char *value, UInt32 id) {
  memset(value, 0, 4096);
  UInt32 count = below(8);
  AudioFileMarker marker;
  memset(&marker, 0, sizeof marker);
  marker.mFramePosition = real64();
  marker.mName = string();
  marker.mMarkerID = (SInt32)word();
  marker.mType = word();
  if (id == 'mkls') {
    AudioFileMarkerList *markers = (AudioFileMarkerList *)(void *)value;
    markers->mNumberMarkers = one_in(4) ? word() : count;
    for (UInt32 i = 0; i < count; i++)
      markers->mMarkers[i] = marker;
    return (UInt32)NumAudioFileMarkersToNumBytes(count);
  }
  AudioFileRegionList *regions = (AudioFileRegionList *)(void *)value;
  regions->mNumberRegions = one_in(4) ? word() : 1;
  regions->mRegions[0].mNumberMarkers = one_in(4) ? word() : count;
  regions->mRegions[0].mName = string();
  for (UInt32 i = 0; i < count; i++)
    regions->mRegions[0].mMarkers[i] = marker;
  return (UInt32)(offsetof(AudioFileRegionList, mRegions) + offsetof(AudioFileRegion, mMarkers) +
                  count * sizeof marker);
}

static void release_markers(const char *value, UInt32 id, UInt32 stated) {
  if (id == 'mkls') {
    const AudioFileMarkerList *markers = (const AudioFileMarkerList *)(const void *)value;
    for (UInt32 i = 0; i < markers->mNumberMarkers && i < NumBytesToNumAudioFileMarkers(stated);
         i++)
      if (markers->mMarkers[i].mName) CFRelease(markers->mMarkers[i].mName);
    return;
  }
  const AudioFileRegionList *regions = (const AudioFileRegionList *)(const void *)value;
  const AudioFileRegion *region = regions->mRegions;
  for (UInt32 i = 0; i < regions->mNumberRegions; i++, region = NextAudioFileRegion(region)) {
    if (region->mName) CFRelease(region->mName);
    for (UInt32 k = 0; k < region->mNumberMarkers; k++)
      if (region->mMarkers[k].mName) CFRelease(region->mMarkers[k].mName);
  }
}

static void call_file_property(AudioFileID file) {
  UInt32 id = one_in(16) ? word() : ONE_OF(file_ids), stated = size(), writable;
  char *value = bytes(0);
  bool has_marks = id == 'mkls' || id == 'rgls';
  switch (below(4)) {
  case 0:
    CALL(AudioFileGetPropertyInfo(file, id, &stated, &writable), (long)file, id);
    break;
  case 1:
    if (has_marks) stated = put_markers(value, id);
    if (is_object(id)) put_object(value, id), stated = 8;
    if (id == 'cmap') stated = sized_layout((AudioChannelLayout *)(void *)value);
    CALL(AudioFileSetProperty(file, id, stated, value), (long)file, id, stated);
    break;
  default:
    if (has_marks) stated = ROOM;
    if (CALL(AudioFileGetProperty(file, id, &stated, value), (long)file, id, stated) != noErr)
      break;
    if (has_marks && stated >= 8) release_markers(value, id, stated);
    if (is_object(id) && stated == 8) release(value);
    break;
  }
}

static void call_global_info(void) {
  static const UInt32 ids[] = {'afrf', 'afwf', 'ftnm', 'sdid', 'fmid', 'ahfs',
                               'fhfs', 'thfs', 'alxt', 'auti', 'amim', 'fext',
                               'futi', 'fmim', 'tmim', 'tuti', 'text'};
  UInt32 id = one_in(16) ? word() : ONE_OF(ids), stated = size(), room = size();
  char *specifier = bytes(0), *value = bytes(1);
  UInt32 pair[2] = {ONE_OF(types), one_in(4) ? word() : 'lpcm'};
  if (one_in(2)) memcpy(specifier, pair, stated = id == 'sdid' ? 8 : 4);
  if (id == 'tmim' || id == 'tuti' || id == 'text') put_object(specifier, id), stated = 8;
  if (one_in(4))
    CALL(AudioFileGetGlobalInfoSize(id, stated, specifier, &room), id, stated);
  else if (CALL(AudioFileGetGlobalInfo(id, stated, specifier, &room, value), id, stated, room) ==
               noErr &&
           is_object(id) && room == 8)
    release(value);
}

static void call_stream(void) {
  AudioFileStreamID stream = borrow(STREAMS), made = NULL;
  UInt32 id = one_in(16) ? word() : ONE_OF(file_ids), stated = size(),
         flags = one_in(4) ? word() : 0;
  SInt64 offset, at = whole();
  AudioFileStreamSeekFlags seek_flags = word();
  Boolean writable;
  char *value = bytes(0), *place;
  switch (below(12)) {
  case 0:
  case 1:
    CALL(AudioFileStreamOpen(NULL, property_found, packets_found, one_in(2) ? 0 : ONE_OF(types),
                             &made));
    put(STREAMS, made);
    break;
  case 2:
    CALL(AudioFileStreamGetPropertyInfo(stream, id, &stated, &writable), (long)stream, id);
    break;
  case 3:
  case 4:
    if (id == 'mkls' || id == 'rgls') break;
    if (CALL(AudioFileStreamGetProperty(stream, id, &stated, value), (long)stream, id, stated) ==
            noErr &&
        is_object(id) && stated == 8)
      release(value);
    break;
  case 5:
    CALL(AudioFileStreamSetProperty(stream, id, stated, value), (long)stream, id, stated);
    break;
  case 6:
    CALL(AudioFileStreamSeek(stream, at, &offset, &seek_flags), (long)stream, at);
    break;
  default: {
    // A whole file, in parts.
    UInt32 length = image(&place), done = 0;
    while (done < length) {
      UInt32 part = 1 + below(length);
      if (part > length - done) part = length - done;
      if (CALL(AudioFileStreamParseBytes(stream, part, place + done, flags), (long)stream, part,
               flags))
        break;
      done += part;
    }
    break;
  }
  }
  give_back(STREAMS, stream);
}

static void call_extended(void) {
  static const UInt32 ids[] = {'ffmt', 'fclo', 'cfmt', 'cclo', 'cman', 'acnv', 'afil',
                               'fmps', 'cmps', '#frm', 'accf', 'iobs', 'xpti'};
  ExtAudioFileRef file = borrow(EXTENDED), made = NULL;
  AudioStreamBasicDescription wanted = format();
  UInt32 id = one_in(16) ? word() : ONE_OF(ids), stated = size(), frames = amount();
  UInt32 flags = one_in(8) ? word() : kAudioFileFlags_EraseFile;
  SInt64 at = one_in(2) ? below(8192) : whole();
  Boolean writable;
  char *value = bytes(0);
  switch (below(18)) {
  case 0:
  case 1:
    CALL(ExtAudioFileOpenURL(ONE_OF(urls), &made));
    put(EXTENDED, made);
    break;
  case 2:
  case 3: {
    AudioFileTypeID type = ONE_OF(types);
    AudioChannelLayout *channels = bytes(1);
    layout(channels);
    CALL(ExtAudioFileCreateWithURL(ONE_OF(urls), type, &wanted, one_in(2) ? NULL : channels, flags,
                                   &made),
         type, wanted.mFormatID, flags);
    put(EXTENDED, made);
    break;
  }
  case 4:
    CALL(ExtAudioFileWrapAudioFileID(any(FILES), one_in(2), &made));
    put(EXTENDED, made);
    break;
  case 5:
  case 6:
    CALL(ExtAudioFileRead(file, &frames, list()), (long)file, frames);
    break;
  case 7:
  case 8:
    CALL(ExtAudioFileWrite(file, frames, list()), (long)file, frames);
    break;
  case 9:
    CALL(ExtAudioFileWriteAsync(file, frames, one_in(8) ? NULL : list()), (long)file, frames);
    break;
  case 10:
    CALL(ExtAudioFileSeek(file, at), (long)file, at);
    break;
  case 11:
    CALL(ExtAudioFileTell(file, &at), (long)file);
    break;
  case 12:
    CALL(ExtAudioFileGetPropertyInfo(file, id, &stated, &writable), (long)file, id);
    break;
  case 13:
  case 14:
    if (CALL(ExtAudioFileGetProperty(file, id, &stated, value), (long)file, id, stated) == noErr &&
        is_object(id) && stated == 8)
      release(value);
    break;
  default:
    if (id == 'cfmt' && !one_in(4)) memcpy(value, &wanted, stated = sizeof wanted);
    if (id == 'fclo' || id == 'cclo') stated = sized_layout((AudioChannelLayout *)(void *)value);
    if (is_object(id)) put_object(value, id), stated = 8;
    CALL(ExtAudioFileSetProperty(file, id, stated, value), (long)file, id, stated);
    break;
  }
  give_back(EXTENDED, file);
}

static void call_file(void) {
  AudioFileID file = any(FILES);
  UInt32 id = one_in(2) ? word() : ONE_OF(((UInt32[]){'fmt ', 'data', 'LIST', 'uuid', 'COMM'}));
  UInt32 index = one_in(4) ? word() : below(3), stated = size();
  char *value = bytes(0);
  switch (below(16)) {
  case 0:
  case 1:
    make_file();
    break;
  case 2:
    if (one_in(4)) CALL(AudioFileOptimize(file), (long)file);
    break;
  case 3:
    CALL(AudioFileCountUserData(file, id, &stated), (long)file, id);
    break;
  case 4:
    CALL(AudioFileGetUserDataSize(file, id, index, &stated), (long)file, id, index);
    break;
  case 5:
    CALL(AudioFileGetUserData(file, id, index, &stated, value), (long)file, id, index, stated);
    break;
  case 6:
    CALL(AudioFileSetUserData(file, id, index, stated, value), (long)file, id, index, stated);
    break;
  case 7:
    CALL(AudioFileRemoveUserData(file, id, index), (long)file, id, index);
    break;
  case 8:
    call_global_info();
    break;
  case 9:
  case 10:
  case 11:
    call_file_property(file);
    break;
  default:
    call_packets(file);
    break;
  }
}

// MARK: Sounds and the session

static void call_service(void) {
  SystemSoundID sound = (SystemSoundID)(uintptr_t)any(SOUNDS), made = 0;
  UInt32 id = one_in(4) ? word() : one_in(2) ? 'isui' : 0x69666469, stated = size();
  UInt32 of_specifier = one_in(2) ? 4 : size_within(64);
  Boolean writable;
  char *value = bytes(0);
  memcpy(value + 1024, &sound, sizeof sound);
  switch (below(11)) {
  case 0:
    if (CALL(AudioServicesCreateSystemSoundID(ONE_OF(urls), &made)) == noErr)
      put(SOUNDS, (void *)(uintptr_t)made);
    break;
  case 1:
    DO(AudioServicesPlaySystemSound(sound), sound);
    break;
  case 2:
    DO(AudioServicesPlayAlertSound(sound), sound);
    break;
  case 3:
    DO(AudioServicesPlaySystemSoundWithCompletion(sound, one_in(2) ? NULL : ^{
    }), sound);
    break;
  case 4:
    DO(AudioServicesPlayAlertSoundWithCompletion(sound, NULL), sound);
    break;
  case 5:
    CALL(AudioServicesAddSystemSoundCompletion(sound, one_in(2) ? NULL : loop, NULL, sound_played,
                                               NULL),
         sound);
    break;
  case 6:
    DO(AudioServicesRemoveSystemSoundCompletion(sound), sound);
    break;
  case 7:
    CALL(AudioServicesGetPropertyInfo(id, of_specifier, value + 1024, &stated, &writable), id,
         of_specifier);
    break;
  case 8:
    CALL(AudioServicesSetProperty(id, of_specifier, value + 1024, stated, value), id, of_specifier,
         stated);
    break;
  default:
    CALL(AudioServicesGetProperty(id, of_specifier, value + 1024, &stated, value), id, of_specifier,
         stated);
    break;
  }
}

static void call_session(void) {
  static const UInt32 ids[] = {'hwsr', 'iobd', 'acat', 'roch', 'chsr', 'chic', 'choc', 'chov',
                               'cilt', 'colt', 'chbd', 'othr', 'ovrd', 'aiav', 'died', 'cmix',
                               'cspk', 'type', 'mode', 'igav', 'igsc', 'crar', 'rout'};
  static const UInt32 categories[] = {'plar', 'plar', 'plar', 'medi', 'reca', 'solo', 'ambi'};
  UInt32 id = one_in(16) ? word() : ONE_OF(ids), stated = size(), flags = word();
  char *value = bytes(0);
  switch (below(10)) {
  case 0:
    CALL(AudioSessionInitialize(one_in(2) ? NULL : loop, NULL, interrupted, NULL));
    break;
  case 1:
    if (one_in(2))
      CALL(AudioSessionSetActive(!one_in(4)));
    else
      CALL(AudioSessionSetActiveWithFlags(!one_in(4), flags), flags);
    break;
  case 2:
    CALL(AudioSessionGetPropertySize(id, &stated), id);
    break;
  case 3:
    CALL(AudioSessionAddPropertyListener(id, session_told, NULL), id);
    break;
  case 4:
    if (one_in(2))
      CALL(AudioSessionRemovePropertyListener(id), id);
    else
      CALL(AudioSessionRemovePropertyListenerWithUserData(id, session_told, NULL), id);
    break;
  case 5:
  case 6: {
    UInt32 category = ONE_OF(categories);
    if (id == 'acat') memcpy(value, &category, stated = 4);
    CALL(AudioSessionSetProperty(id, stated, value), id, stated);
    category = 'plar';
    CALL(AudioSessionSetProperty('acat', 4, &category));
    break;
  }
  default:
    if (CALL(AudioSessionGetProperty(id, &stated, value), id, stated) == noErr && is_object(id) &&
        stated == 8)
      release(value);
    break;
  }
}

/// References to files of which some are there, and the functions that take them.
static void call_reference(void) {
  FSRef folder, file;
  UInt8 path[300];
  AudioFileID made = NULL;
  ExtAudioFileRef extended = NULL;
  AudioStreamBasicDescription wanted = format();
  CFURLRef url = ONE_OF(urls);
  if (!CALL(CFURLGetFSRef(url, &file))) memset(&file, one_in(2) ? 0 : (int)word(), sizeof file);
  CALL(FSPathMakeRef((const UInt8 *)"/", &folder, NULL));
  CALL(FSCompareFSRefs(&folder, &file));
  CALL(FSRefMakePath(&file, path, below(sizeof path)));
  CFURLRef again = CALL(CFURLCreateFromFSRef(NULL, &file));
  if (again) CFRelease(again);
  // No file can be made in a file.
  switch (below(5)) {
  case 0:
    CALL(AudioFileOpen(&file, (AudioFilePermissions)(1 + below(3)), 0, &made));
    put(FILES, made);
    break;
  case 1:
    CALL(AudioFileCreate(&file, CFSTR("x"), word(), &wanted, (AudioFileFlags)word(), NULL, &made));
    break;
  case 2:
    CALL(AudioFileInitialize(&file, kAudioFileCAFType, &wanted, 0, &made));
    put(FILES, made);
    break;
  case 3:
    CALL(ExtAudioFileOpen(&file, &extended));
    put(EXTENDED, extended);
    break;
  default:
    CALL(ExtAudioFileCreateNew(&file, CFSTR("x"), word(), &wanted, NULL, &extended));
    break;
  }
}

/// A workgroup that the thread joins and leaves.
static void call_workgroup(void) {
  os_workgroup_t group = one_in(2)
                             ? AudioWorkIntervalCreate("own", OS_CLOCK_MACH_ABSOLUTE_TIME, NULL)
                             : os_workgroup_parallel_create(NULL, NULL);
  os_workgroup_join_token_s token;
  CALL(os_retain(group));
  bool is_joined = CALL(os_workgroup_join(group, &token)) == 0;
  CALL(os_workgroup_interval_start(group, word(), word(), NULL));
  CALL(os_workgroup_interval_update(group, word(), NULL));
  CALL(os_workgroup_interval_finish(group, NULL));
  CALL(os_workgroup_max_parallel_threads(group, NULL));
  if (one_in(2)) DO(os_workgroup_cancel(group));
  CALL(os_workgroup_testcancel(group));
  if (is_joined) DO(os_workgroup_leave(group, &token));
  DO(os_release(group));
  DO(os_release(group));
}

static void call_other(void) {
  char text[64];
  UInt32 room = below(65);
  CALL(strlcpy(text, "some text", room), room);
  if (room) CALL(strlcat(text, " and more of it", room), room);
  CALL(getprogname());
  CALL(GetMacOSStatusErrorString((OSStatus)word()));
  CALL(GetMacOSStatusCommentString((OSStatus)word()));
  void *memory = CALL(reallocf(NULL, amount()));
  free(memory);
  uint64_t thread;
  CALL(pthread_threadid_np(0, &thread));
  call_reference();
  call_workgroup();
}

// MARK: MIDI

static void take_packets(const MIDIPacketList *list, void *data, void *tag);

static MIDIObjectRef any_midi(int kind) {
  return (MIDIObjectRef)(uintptr_t)any(kind);
}

static void put_midi(int kind, MIDIObjectRef made) {
  put(kind, (void *)(uintptr_t)made);
}

static MIDIEndpointRef any_endpoint(void) {
  switch (below(4)) {
  case 0:
    return CALL(MIDIGetSource(below(8)));
  case 1:
    return CALL(MIDIGetDestination(below(8)));
  default:
    return any_midi(MIDI_ENDPOINTS);
  }
}

/// Sends a list of random bytes, now and soon.
static void send_packets(void) {
  union {
    MIDIPacketList list;
    char room[4096];
  } all;
  union {
    MIDIEventList list;
    char room[2048];
  } events;
  const Byte *data = bytes(0);
  MIDIPacket *packet = CALL(MIDIPacketListInit(&all.list));
  for (UInt32 i = below(8); packet && i > 0; i--) {
    UInt32 room = one_in(8) ? below(sizeof all) : sizeof all;
    MIDITimeStamp time = one_in(4) ? draw() : mach_absolute_time() + below(1 << 24);
    packet =
        CALL(MIDIPacketListAdd(&all.list, room, packet, one_in(2) ? 0 : time, below(300), data));
  }
  MIDIEventPacket *event = CALL(MIDIEventListInit(&events.list, (MIDIProtocolID)(1 + below(2))));
  for (UInt32 i = below(4); event && i > 0; i--)
    event = CALL(MIDIEventListAdd(&events.list, sizeof events, event, 0, below(70), bytes(1)));
  MIDIPortRef port = any_midi(MIDI_PORTS);
  MIDIEndpointRef endpoint = any_endpoint();
  CALL(MIDISend(port, endpoint, &all.list), port, endpoint);
  CALL(MIDIReceived(endpoint, &all.list), endpoint);
  CALL(MIDISendEventList(port, endpoint, &events.list), port, endpoint);
  CALL(MIDIReceivedEventList(endpoint, &events.list), endpoint);
  if (one_in(8)) CALL(MIDIFlushOutput(one_in(4) ? 0 : endpoint), endpoint);
}

static void send_exclusive(void) {
  static MIDISysexSendRequest requests[32];
  static atomic_uint next;
  static Byte message[2000] = {0xF0, [1 ... 1998] = 1, 0xF7};
  UInt32 number = next++;
  if (number >= COUNT(requests)) return;
  UInt32 count = one_in(4) ? below(2000) : 2000;
  requests[number] = (MIDISysexSendRequest){any_endpoint(), message, count, false, {0}, NULL, NULL};
  CALL(MIDISendSysex(&requests[number]), requests[number].destination, count);
}

static void make_midi(void) {
  MIDIClientRef client = any_midi(MIDI_CLIENTS);
  MIDIObjectRef made = 0;
  MIDIReadBlock read = ^(const MIDIPacketList *list, void *tag) {
    take_packets(list, NULL, tag);
  };
  MIDIReceiveBlock receive = ^(const MIDIEventList *list, void *tag) {
    (void)tag;
    CALL(MIDIEventPacketNext(&list->packet[0]));
  };
  MIDIProtocolID protocol = (MIDIProtocolID)(one_in(8) ? word() : 1 + below(2));
  int kind = MIDI_PORTS;
  switch (below(10)) {
  case 0:
    kind = MIDI_CLIENTS;
    CALL(MIDIClientCreate(string(), NULL, NULL, &made));
    break;
  case 1:
    kind = MIDI_CLIENTS;
    CALL(MIDIClientCreateWithBlock(string(), &made, ^(const MIDINotification *message) {
      (void)message;
    }));
    break;
  case 2:
    CALL(MIDIInputPortCreate(client, string(), take_packets, NULL, &made), client);
    break;
  case 3:
    CALL(MIDIInputPortCreateWithBlock(client, string(), &made, read), client);
    break;
  case 4:
    CALL(MIDIInputPortCreateWithProtocol(client, string(), protocol, &made, receive), client);
    break;
  case 5:
    CALL(MIDIOutputPortCreate(client, string(), &made), client);
    break;
  case 6:
    kind = MIDI_ENDPOINTS;
    CALL(MIDIDestinationCreate(client, string(), take_packets, NULL, &made), client);
    break;
  case 7:
    kind = MIDI_ENDPOINTS;
    if (one_in(2))
      CALL(MIDIDestinationCreateWithBlock(client, string(), &made, read), client);
    else
      CALL(MIDIDestinationCreateWithProtocol(client, string(), protocol, &made, receive), client);
    break;
  default:
    kind = MIDI_ENDPOINTS;
    if (one_in(2))
      CALL(MIDISourceCreate(client, string(), &made), client);
    else
      CALL(MIDISourceCreateWithProtocol(client, string(), protocol, &made), client);
    break;
  }
  put_midi(kind, made);
}

static void call_midi_property(void) {
  MIDIObjectRef object = one_in(4) ? word() : any_endpoint();
  CFStringRef names[] = {kMIDIPropertyName,        kMIDIPropertyUniqueID, kMIDIPropertyModel,
                         kMIDIPropertyDisplayName, kMIDIPropertyOffline,  string()};
  CFStringRef name = ONE_OF(names), text = NULL;
  CFDataRef data = NULL;
  CFDictionaryRef dictionary = NULL;
  CFPropertyListRef all = NULL;
  MIDIObjectType type;
  SInt32 number = (SInt32)word();
  switch (below(10)) {
  case 0:
    CALL(MIDIObjectGetIntegerProperty(object, name, &number), object);
    break;
  case 1:
    CALL(MIDIObjectSetIntegerProperty(object, name, number), object, number);
    break;
  case 2:
    CALL(MIDIObjectGetStringProperty(object, name, &text), object);
    break;
  case 3:
    CALL(MIDIObjectSetStringProperty(object, name, string()), object);
    break;
  case 4:
    CALL(MIDIObjectGetDataProperty(object, name, &data), object);
    break;
  case 5:
    data = CFDataCreate(NULL, bytes(0), below(64));
    CALL(MIDIObjectSetDataProperty(object, name, one_in(8) ? NULL : data), object);
    break;
  case 6:
    CALL(MIDIObjectGetDictionaryProperty(object, name, &dictionary), object);
    break;
  case 7:
    CALL(MIDIObjectSetDictionaryProperty(object, name, ONE_OF(dictionaries)), object);
    CALL(MIDIObjectRemoveProperty(object, name), object);
    break;
  case 8:
    CALL(MIDIObjectGetProperties(object, &all, one_in(2)), object);
    break;
  default:
    CALL(MIDIObjectFindByUniqueID(number, &object, &type), number);
    break;
  }
  if (text) CFRelease(text);
  if (data) CFRelease(data);
  if (dictionary) CFRelease(dictionary);
  if (all) CFRelease(all);
}

static void call_midi_setup(void) {
  ItemCount index = one_in(4) ? (ItemCount)draw() : below(4);
  MIDIDeviceRef device = CALL(MIDIGetDevice(index), (long)index);
  MIDIEntityRef entity = CALL(MIDIDeviceGetEntity(one_in(4) ? word() : device, below(2)), device);
  CALL(MIDIGetNumberOfDevices());
  CALL(MIDIGetNumberOfSources());
  CALL(MIDIGetNumberOfDestinations());
  CALL(MIDIGetNumberOfExternalDevices());
  CALL(MIDIGetExternalDevice(index), (long)index);
  CALL(MIDIDeviceGetNumberOfEntities(device), device);
  CALL(MIDIEntityGetNumberOfSources(entity), entity);
  CALL(MIDIEntityGetSource(entity, index), entity, (long)index);
  CALL(MIDIEntityGetNumberOfDestinations(entity), entity);
  CALL(MIDIEntityGetDestination(entity, index), entity, (long)index);
  CALL(MIDIEntityGetDevice(entity, &device), entity);
  CALL(MIDIEndpointGetEntity(any_endpoint(), &entity));
  if (one_in(8)) CALL(MIDIRestart());
}

static void call_thru(void) {
  MIDIThruConnectionParams values;
  MIDIThruConnectionRef thru = any_midi(MIDI_THRUS), made = 0;
  DO(MIDIThruConnectionParamsInitialize(&values));
  values.numSources = one_in(8) ? word() : below(2);
  values.numDestinations = one_in(8) ? word() : below(2);
  values.sources[0].endpointRef = any_endpoint();
  values.destinations[0].endpointRef = any_endpoint();
  values.noteNumber.transform = (MIDITransformType)(one_in(4) ? word() : below(12));
  values.noteNumber.param = (SInt16)word();
  values.lowVelocity = (UInt8)word();
  CFDataRef data = CFDataCreate(NULL, (const UInt8 *)&values, sizeof values - (one_in(8) ? 1 : 0));
  CFDataRef got = NULL, list = NULL;
  switch (below(4)) {
  case 0:
    CALL(MIDIThruConnectionCreate(string(), data, &made));
    put_midi(MIDI_THRUS, made);
    break;
  case 1:
    CALL(MIDIThruConnectionSetParams(thru, data), thru);
    break;
  case 2:
    CALL(MIDIThruConnectionGetParams(thru, &got), thru);
    break;
  default:
    CALL(MIDIThruConnectionFind(string(), &list));
    break;
  }
  CFRelease(data);
  if (got) CFRelease(got);
  if (list) CFRelease(list);
}

static void call_midi(void) {
  MIDIPortRef port = any_midi(MIDI_PORTS);
  switch (below(12)) {
  case 0:
  case 1:
    make_midi();
    break;
  case 2:
    CALL(MIDIPortConnectSource(port, any_endpoint(), (void *)(uintptr_t)below(3)), port);
    break;
  case 3:
    CALL(MIDIPortDisconnectSource(port, any_endpoint()), port);
    break;
  case 4:
    send_exclusive();
    break;
  case 5:
    call_midi_setup();
    break;
  case 6:
  case 7:
    call_midi_property();
    break;
  case 8:
    call_thru();
    break;
  default:
    send_packets();
    break;
  }
}

static void take_packets(const MIDIPacketList *list, void *data, void *tag) {
  (void)data, (void)tag;
  const MIDIPacket *packet = &list->packet[0];
  for (UInt32 i = 0; i < list->numPackets; i++)
    packet = MIDIPacketNext(packet);
  call_back(call_midi);
}

// MARK: Threads

static const struct {
  const char *name;
  void (*call)(void);
  /// How often the family is drawn.
  UInt32 weight;
} families[] = {{"queues", call_queue, 6},
                {"units", call_unit, 6},
                {"graphs", call_graph, 3},
                {"sequences", call_sequence, 3},
                {"objects", call_object, 3},
                {"old objects", call_old_object, 1},
                {"devices", call_device, 2},
                {"converters", call_converter, 5},
                {"formats", call_format, 2},
                {"files", call_file, 5},
                {"extended files", call_extended, 4},
                {"streams", call_stream, 3},
                {"sounds", call_service, 1},
                {"the session", call_session, 1},
                {"MIDI", call_midi, 1},
                {"others", call_other, 1}};

static double end_of_run;
static const char *only;

static void *make_calls(void *nothing) {
  (void)nothing;
  is_caller = true;
  UInt32 sum = 0;
  for (size_t i = 0; i < COUNT(families); i++)
    sum += families[i].weight;
  while (seconds_now() < end_of_run)
    for (int n = 0; n < 16; n++) {
      UInt32 drawn = below(sum), i = 0;
      while (drawn >= families[i].weight)
        drawn -= families[i++].weight;
      if (only && strcmp(only, families[i].name)) continue;
      is_tame = one_in(2);
      families[i].call();
    }
  return NULL;
}

static void *run_loop(void *nothing) {
  (void)nothing;
  atomic_thread_fence(memory_order_seq_cst);
  loop = CFRunLoopGetCurrent();
  for (;;) {
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, false);
    usleep(1000);
  }
  return NULL;
}

#if __has_feature(address_sanitizer)
void __sanitizer_set_death_callback(void (*)(void));
const char *__asan_default_options(void);

static void died(void) {
  tell_calls("report of the sanitizer", 0);
}

/// Limits the freed memory that AddressSanitizer keeps back: the program's own limit of 1 GB counts
/// it.
const char *__asan_default_options(void) {
  return "quarantine_size_mb=64";
}
#endif

static void crashed(int number) {
  signal(number, SIG_DFL);
  tell_calls("signal", number);
  void *frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDOUT_FILENO);
#if __has_feature(address_sanitizer)
  // Another thread may be writing its report.
  sleep(1);
#endif
  _exit(2);
}

enum {
  MOST_SECONDS = 90,
  MOST_MEGABYTES = 1024
};

static long megabytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

static atomic_long most_megabytes;

/// Ends the program if a call lasts too long, or all the calls have taken too much memory.
static void *watch(void *nothing) {
  (void)nothing;
  for (;;) {
    sleep(1);
    double now = seconds_now();
    for (size_t i = 0; i < COUNT(records); i++)
      if (records[i].depth > 0 && now - records[i].calls[0].begun > MOST_SECONDS) {
        tell_calls("no return of thread", (long)i);
        if (getenv("CALLS_PAUSE")) pause();
        abort();
      }
    long resident = megabytes();
    if (resident > most_megabytes) most_megabytes = resident;
    if (resident > MOST_MEGABYTES) {
      tell_calls("megabytes", resident);
      _exit(3);
    }
  }
  return NULL;
}

/// Makes calls for some seconds, and ends what they have left.
static void run_calls(double seconds, int count) {
  pthread_t threads[64];
  double begun = seconds_now();
  unsigned long before = calls_made;
  end_of_run = begun + seconds;
  for (int i = 0; i < count; i++)
    CHECK(pthread_create(&threads[i], NULL, make_calls, NULL) == 0);
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  for (int kind = 0; kind < KINDS; kind++)
    for (int i = 0; i < SLOTS; i++)
      end(kind, atomic_exchange(&pool[kind][i], NULL));
  fprintf(stderr, "seed %llu: %lu calls in %.1f s, at most %ld MB\n", seed, calls_made - before,
          seconds_now() - begun, most_megabytes);
}

int main(int count, char **arguments) {
  setenv("CUEJACK_LOG", "critical", 1);
  cue_jack_silence();
  CHECK(pthread_key_create(&key_of_record, release_record) == 0 && mkdtemp(folder) != NULL);
  static const int signals[] = {SIGSEGV, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGBUS};
  for (size_t i = 0; i < COUNT(signals); i++)
    signal(signals[i], crashed);
#if __has_feature(address_sanitizer)
  __sanitizer_set_death_callback(died);
#endif
  // Files end somewhere, and a write that cannot be made is an error.
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 26, 1 << 26});
  make_objects();
  make_images();
  song_url = url_of("song.mid");
  serial = dispatch_queue_create("calls", NULL);
  AudioComponentDescription wanted = {'aufx', 'frgn', 'test', 0, 0};
  foreign = AudioComponentRegister(&wanted, strings[6], 1, foreign_factory);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run_loop, NULL) == 0);
  WAIT(loop != NULL);
  CHECK(pthread_create(&thread, NULL, watch, NULL) == 0);
  seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 34;
  only = count > 3 && *arguments[3] ? arguments[3] : NULL;
  run_calls(count > 1 ? atof(arguments[1]) : 5, count > 4 ? atoi(arguments[4]) : 4);
  passed("a fixed seed");
  if (count < 2) {
    seed = mach_absolute_time();
    run_calls(5, 4);
    passed("a random seed");
  }
  run("rm -r \"$PWD\"");
  fflush(stdout);
  _exit(0);
}
