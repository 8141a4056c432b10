// Music sequences: a program's own instrument clicks at the frame of each note, offline and on a
// device.
#include "units.h"

#include <CoreMIDI/CoreMIDI.h>

// MARK: An instrument of the program

enum {
  MOST_FRAMES = 8192
};

/// Clicks at the frames of notes: a sample of the note's number, and of minus the number at the
/// end.
typedef struct {
  AudioComponentPlugInInterface interface;
  float clicks[MOST_FRAMES];
  int notes;
  _Atomic int sounding;
} click;

static AudioStreamBasicDescription click_format;

static OSStatus click_open(void *self, AudioComponentInstance instance) {
  (void)self, (void)instance;
  return noErr;
}

static OSStatus click_close(void *self) {
  free(self);
  return noErr;
}

static OSStatus click_works(void *self) {
  (void)self;
  return noErr;
}

static OSStatus click_get(void *self, AudioUnitPropertyID id, AudioUnitScope scope,
                          AudioUnitElement element, void *value, UInt32 *size) {
  (void)self, (void)element;
  switch (id) {
  case kAudioUnitProperty_StreamFormat:
    if (value) memcpy(value, &click_format, sizeof click_format);
    *size = sizeof click_format;
    return noErr;
  case kAudioUnitProperty_ElementCount:
    if (value) *(UInt32 *)value = scope == kAudioUnitScope_Output;
    *size = sizeof(UInt32);
    return noErr;
  default:
    return kAudioUnitErr_InvalidProperty;
  }
}

static OSStatus click_set(void *self, AudioUnitPropertyID id, AudioUnitScope scope,
                          AudioUnitElement element, const void *value, UInt32 size) {
  (void)self, (void)scope, (void)element;
  if (id == kAudioUnitProperty_StreamFormat && size == sizeof click_format)
    memcpy(&click_format, value, size);
  return noErr;
}

static OSStatus click_hear(void *self, UInt32 status, UInt32 first, UInt32 second, UInt32 frame) {
  click *this = self;
  (void)second;
  bool begins = (status & 0xF0) == 0x90;
  if (!begins && (status & 0xF0) != 0x80) return noErr;
  this->clicks[frame % MOST_FRAMES] += begins ? (float)first : -(float)first;
  this->notes += begins;
  this->sounding += begins ? 1 : -1;
  return noErr;
}

static OSStatus click_render(void *self, AudioUnitRenderActionFlags *flags,
                             const AudioTimeStamp *time, UInt32 bus, UInt32 frames,
                             AudioBufferList *list) {
  click *this = self;
  (void)flags, (void)time, (void)bus;
  for (UInt32 i = 0; i < list->mNumberBuffers; i++)
    memcpy(list->mBuffers[i].mData, this->clicks, frames * sizeof(float));
  memmove(this->clicks, this->clicks + frames, (MOST_FRAMES - frames) * sizeof(float));
  memset(this->clicks + MOST_FRAMES - frames, 0, frames * sizeof(float));
  return noErr;
}

static AudioComponentMethod click_lookup(SInt16 selector) {
  switch (selector) {
  case kAudioUnitInitializeSelect:
  case kAudioUnitUninitializeSelect:
    return (AudioComponentMethod)click_works;
  case kAudioUnitGetPropertySelect:
    return (AudioComponentMethod)click_get;
  case kAudioUnitSetPropertySelect:
    return (AudioComponentMethod)click_set;
  case kAudioUnitRenderSelect:
    return (AudioComponentMethod)click_render;
  case kMusicDeviceMIDIEventSelect:
    return (AudioComponentMethod)click_hear;
  default:
    return NULL;
  }
}

static click *latest;

static AudioComponentPlugInInterface *click_make(const AudioComponentDescription *description) {
  (void)description;
  latest = calloc(1, sizeof *latest);
  latest->interface = (AudioComponentPlugInInterface){click_open, click_close, click_lookup, NULL};
  return &latest->interface;
}

static const AudioComponentDescription clicks = {kAudioUnitType_MusicDevice, 'clck', 'test', 0, 0};

// MARK: Graphs and sequences

/// A graph of an instrument and an output.
static AUGraph make_graph(OSType output_kind, AUNode *instrument, AudioUnit *output) {
  AUGraph graph = NULL;
  AUNode node;
  AudioComponentDescription description = describe(kAudioUnitType_Output, output_kind);
  WORKS(NewAUGraph(&graph));
  WORKS(AUGraphAddNode(graph, &clicks, instrument));
  WORKS(AUGraphAddNode(graph, &description, &node));
  WORKS(AUGraphConnectNodeInput(graph, *instrument, 0, node, 0));
  WORKS(AUGraphOpen(graph));
  WORKS(AUGraphNodeInfo(graph, node, NULL, output));
  set_format(*output, kAudioUnitScope_Input, 0, click_format);
  if (output_kind == kAudioUnitSubType_GenericOutput)
    set_format(*output, kAudioUnitScope_Output, 0, click_format);
  return graph;
}

static MusicTrack new_track(MusicSequence sequence) {
  MusicTrack track = NULL;
  WORKS(MusicSequenceNewTrack(sequence, &track));
  CHECK(track != NULL);
  return track;
}

static void add_note(MusicTrack track, MusicTimeStamp beat, UInt8 number, Float32 duration) {
  MIDINoteMessage note = {0, number, 100, 64, duration};
  WORKS(MusicTrackNewMIDINoteEvent(track, beat, &note));
}

/// Renders frames and returns the samples. The caller frees them.
static float *render_all(AudioUnit output, int frames, int slice) {
  static double position;
  float *all = calloc((size_t)frames, sizeof *all);
  for (int done = 0; done < frames; done += slice) {
    UInt32 count = (UInt32)(frames - done < slice ? frames - done : slice);
    buffers list = no_memory(2);
    AudioTimeStamp time = at_frame(position);
    WORKS(AudioUnitRender(output, NULL, &time, 0, count, &list.list));
    memcpy(all + done, list.list.mBuffers[0].mData, count * sizeof(float));
    position += count;
  }
  return all;
}

static float value_at(const float *samples, int frame) {
  CHECK(samples[frame] != 0);
  return samples[frame];
}

static MusicTimeStamp beat_of(MusicPlayer player) {
  MusicTimeStamp beat = -1;
  WORKS(MusicPlayerGetTime(player, &beat));
  return beat;
}

static Boolean is_playing(MusicPlayer player) {
  Boolean answer = 77;
  WORKS(MusicPlayerIsPlaying(player, &answer));
  return answer;
}

// MARK: Offline

static _Atomic int user_events;
static double user_beats[8];

static void user_happened(void *data, MusicSequence sequence, MusicTrack track, MusicTimeStamp beat,
                          const MusicEventUserData *event, MusicTimeStamp start,
                          MusicTimeStamp end) {
  MusicSequence owner = NULL;
  WORKS(MusicTrackGetSequence(track, &owner));
  CHECK(owner == sequence && data == user_beats && start <= beat && beat < end);
  CHECK(event->length == 3 && memcmp(event->data, "abc", 3) == 0);
  if (user_events < 8) user_beats[user_events] = beat;
  user_events++;
}

static void offline(void) {
  AUNode node;
  AudioUnit output;
  AUGraph graph = make_graph(kAudioUnitSubType_GenericOutput, &node, &output), found = NULL;
  MusicSequence sequence = NULL, same = NULL;
  MusicPlayer player = NULL;
  MusicTrack tempos = NULL;
  WORKS(NewMusicSequence(&sequence));
  WORKS(NewMusicPlayer(&player));
  GIVES(MusicPlayerStart(player), kAudioToolboxErr_NoSequence);
  GIVES(MusicPlayerGetSequence(player, &same), kAudioToolboxErr_NoSequence);
  WORKS(MusicPlayerSetSequence(player, sequence));
  WORKS(MusicPlayerGetSequence(player, &same));
  CHECK(same == sequence);
  // Without a graph, and without a synthesiser for one of the library's own, it cannot be played.
  AudioComponentDescription synthesiser = describe(kAudioUnitType_MusicDevice, 'dls ');
  if (!AudioComponentFindNext(NULL, &synthesiser))
    GIVES(MusicPlayerPreroll(player), kAudioToolboxError_NoTrackDestination);
  WORKS(MusicSequenceSetAUGraph(sequence, graph));
  WORKS(MusicSequenceGetAUGraph(sequence, &found));
  CHECK(found == graph);

  // 150 beats a minute: a beat has 19,200 frames. From beat 2 on, 100: 28,800.
  WORKS(MusicSequenceGetTempoTrack(sequence, &tempos));
  WORKS(MusicTrackNewExtendedTempoEvent(tempos, 0, 150));
  WORKS(MusicTrackNewExtendedTempoEvent(tempos, 2, 100));
  GIVES(MusicTrackNewExtendedTempoEvent(tempos, 0, 0), kAudio_ParamError);
  MusicTrack track = new_track(sequence);
  GIVES(MusicTrackNewExtendedTempoEvent(track, 0, 100), kAudioToolboxErr_InvalidEventType);
  GIVES(MusicTrackSetDestNode(track, 99), kAudioToolboxErr_IllegalTrackDestination);
  WORKS(MusicTrackSetDestNode(track, node));
  AUNode destination = 0;
  WORKS(MusicTrackGetDestNode(track, &destination));
  EQUAL(destination, node);
  add_note(track, 0, 10, 0.5f);
  add_note(track, 1.3, 11, 0.5f);
  add_note(track, 3.25, 12, 0.25f);
  struct {
    UInt32 length;
    UInt8 data[3];
  } user = {3, {'a', 'b', 'c'}};
  WORKS(MusicTrackNewUserEvent(track, 1, (MusicEventUserData *)(void *)&user));
  WORKS(MusicTrackNewUserEvent(track, 2.5, (MusicEventUserData *)(void *)&user));
  WORKS(MusicSequenceSetUserCallback(sequence, user_happened, user_beats));

  WORKS(MusicPlayerStart(player));
  GIVES(MusicPlayerStart(player), kAudioToolboxErr_InvalidPlayerState);
  GIVES(MusicPlayerSetSequence(player, NULL), kAudioToolboxErr_InvalidPlayerState);
  GIVES(DisposeMusicSequence(sequence), kAudioToolboxErr_InvalidPlayerState);
  CHECK(is_playing(player));
  float *first = render_all(output, 100000, 512);
  EQUAL(value_at(first, 0), 10);
  EQUAL(value_at(first, 9600), -10);
  EQUAL(value_at(first, 24960), 11);
  EQUAL(value_at(first, 34560), -11);
  EQUAL(value_at(first, 38400 + 36000), 12);
  EQUAL(value_at(first, 38400 + 43200), -12);
  EQUAL(latest->notes, 3);
  EQUAL(latest->sounding, 0);
  UInt64 host;
  GIVES(MusicPlayerGetHostTimeForBeats(player, 1, &host), kAudioToolboxErr_InvalidPlayerState);
  CHECK(beat_of(player) > 4);
  WORKS(MusicPlayerStop(player));
  WORKS(MusicPlayerStop(player));
  CHECK(!is_playing(player));
  WAIT(user_events == 2);
  EQUAL(user_beats[0], 1);
  EQUAL(user_beats[1], 2.5);
  // Slices of another length give the same samples.
  WORKS(MusicPlayerSetTime(player, 0));
  EQUAL(beat_of(player), 0);
  WORKS(MusicPlayerStart(player));
  float *second = render_all(output, 100000, 333);
  CHECK(memcmp(first, second, 100000 * sizeof(float)) == 0);
  WORKS(MusicPlayerStop(player));
  free(first);
  free(second);

  // A loop of the last two beats, played three times, at twice the tempo.
  MusicTrackLoopInfo loop = {2, 3};
  MusicTimeStamp length = 4;
  WORKS(MusicTrackSetProperty(track, kSequenceTrackProperty_TrackLength, &length, sizeof length));
  WORKS(MusicTrackSetProperty(track, kSequenceTrackProperty_LoopInfo, &loop, sizeof loop));
  memset(&loop, 0, sizeof loop);
  UInt32 size = sizeof loop;
  WORKS(MusicTrackGetProperty(track, kSequenceTrackProperty_LoopInfo, &loop, &size));
  CHECK(loop.loopDuration == 2 && loop.numberOfLoops == 3);
  WORKS(MusicPlayerSetPlayRateScalar(player, 2));
  WORKS(MusicPlayerSetTime(player, 2));
  WORKS(MusicPlayerStart(player));
  first = render_all(output, 14400 * 8, 512);
  for (int pass = 0; pass < 3; pass++)
    EQUAL(value_at(first, 18000 + pass * 28800), 12);
  EQUAL(latest->notes, 3 + 3 + 3);
  free(first);
  WORKS(MusicPlayerStop(player));

  // A track that falls silent while its note sounds.
  Boolean on = true;
  loop.loopDuration = 0;
  WORKS(MusicTrackSetProperty(track, kSequenceTrackProperty_LoopInfo, &loop, sizeof loop));
  WORKS(MusicPlayerSetPlayRateScalar(player, 1));
  WORKS(MusicPlayerSetTime(player, 0));
  WORKS(MusicPlayerStart(player));
  free(render_all(output, 1000, 512));
  EQUAL(latest->sounding, 1);
  WORKS(MusicTrackSetProperty(track, kSequenceTrackProperty_MuteStatus, &on, sizeof on));
  first = render_all(output, 1000, 512);
  EQUAL(value_at(first, 0), -10);
  free(first);
  WORKS(DisposeMusicPlayer(player));
  GIVES(DisposeMusicPlayer(player), kAudio_ParamError);
  WORKS(DisposeMusicSequence(sequence));
  GIVES(MusicTrackClear(track, 0, 1), kAudioToolboxErr_TrackNotFound);
  WORKS(DisposeAUGraph(graph));
  passed("offline");
}

// MARK: Iterators and files

static void events(void) {
  MusicSequence sequence = NULL;
  WORKS(NewMusicSequence(&sequence));
  MusicTrack track = new_track(sequence), other = new_track(sequence);
  UInt32 index = 77, count = 0;
  WORKS(MusicSequenceGetTrackIndex(sequence, other, &index));
  WORKS(MusicSequenceGetTrackCount(sequence, &count));
  CHECK(index == 1 && count == 2);
  MusicTrack found = NULL;
  WORKS(MusicSequenceGetIndTrack(sequence, 1, &found));
  CHECK(found == other);
  GIVES(MusicSequenceGetIndTrack(sequence, 2, &found), kAudioToolboxErr_TrackIndexError);
  add_note(track, 1, 60, 1);
  MIDIChannelMessage control = {0xB0, 7, 99, 0};
  WORKS(MusicTrackNewMIDIChannelEvent(track, 2, &control));
  struct {
    UInt32 length;
    UInt8 data[8];
  } raw = {4, {0xF0, 1, 2, 0xF7}};
  WORKS(MusicTrackNewMIDIRawDataEvent(track, 3, (MIDIRawData *)(void *)&raw));
  ParameterEvent parameter = {1, kAudioUnitScope_Global, 0, 0.5f};
  WORKS(MusicTrackNewParameterEvent(track, 4, &parameter));
  ExtendedNoteOnEvent note = {kMusicNoteEvent_UseGroupInstrument, 3, 1, {2, 61.2f, 90, {{0, 0}}}};
  WORKS(MusicTrackNewExtendedNoteEvent(track, 5, &note));
  struct {
    UInt8 type, unused[3];
    UInt32 length;
    UInt8 data[8];
  } meta = {3, {0, 0, 0}, 4, "name"};
  WORKS(MusicTrackNewMetaEvent(track, 0, (MIDIMetaEvent *)(void *)&meta));

  static const MusicEventType types[] = {kMusicEventType_Meta,
                                         kMusicEventType_MIDINoteMessage,
                                         kMusicEventType_MIDIChannelMessage,
                                         kMusicEventType_MIDIRawData,
                                         kMusicEventType_Parameter,
                                         kMusicEventType_ExtendedNote};
  MusicEventIterator iterator = NULL;
  WORKS(NewMusicEventIterator(track, &iterator));
  Boolean has = false;
  MusicTimeStamp beat;
  MusicEventType type;
  const void *data;
  UInt32 size;
  for (int i = 0; i < 6; i++) {
    WORKS(MusicEventIteratorHasCurrentEvent(iterator, &has));
    CHECK(has);
    WORKS(MusicEventIteratorGetEventInfo(iterator, &beat, &type, &data, &size));
    EQUAL(beat, i);
    EQUAL(type, types[i]);
    if (i == 0) CHECK(size == 12 && memcmp(((const MIDIMetaEvent *)data)->data, "name", 4) == 0);
    if (i == 1) CHECK(((const MIDINoteMessage *)data)->note == 60);
    if (i == 2) CHECK(size == 4 && memcmp(data, &control, 4) == 0);
    if (i == 3) CHECK(((const MIDIRawData *)data)->length == 4);
    if (i == 4) CHECK(size == sizeof parameter && memcmp(data, &parameter, size) == 0);
    if (i == 5) EQUAL(((const ExtendedNoteOnEvent *)data)->extendedParams.mPitch, 61.2f);
    WORKS(MusicEventIteratorNextEvent(iterator));
  }
  WORKS(MusicEventIteratorHasCurrentEvent(iterator, &has));
  CHECK(!has);
  GIVES(MusicEventIteratorNextEvent(iterator), kAudioToolboxErr_EndOfTrack);
  GIVES(MusicEventIteratorGetEventInfo(iterator, &beat, &type, &data, &size),
        kAudioToolboxErr_EndOfTrack);
  WORKS(MusicEventIteratorSeek(iterator, 1.5));
  control.data2 = 5;
  WORKS(MusicEventIteratorSetEventInfo(iterator, kMusicEventType_MIDIChannelMessage, &control));
  GIVES(MusicEventIteratorSetEventInfo(iterator, 2, &control), kAudioToolboxErr_InvalidEventType);
  WORKS(MusicEventIteratorSetEventTime(iterator, 4.5));
  WORKS(MusicEventIteratorHasNextEvent(iterator, &has));
  CHECK(has);
  WORKS(MusicEventIteratorPreviousEvent(iterator));
  WORKS(MusicEventIteratorGetEventInfo(iterator, &beat, NULL, NULL, NULL));
  EQUAL(beat, 4);
  WORKS(MusicEventIteratorDeleteEvent(iterator));
  WORKS(MusicEventIteratorGetEventInfo(iterator, &beat, NULL, NULL, NULL));
  EQUAL(beat, 4.5);
  WORKS(DisposeMusicEventIterator(iterator));
  GIVES(MusicEventIteratorNextEvent(iterator), kAudio_ParamError);

  // A file of it, in memory and on the disk.
  char path[] = "/tmp/cuejack-sequence-XXXXXX";
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  CFURLRef url = CFURLCreateFromFileSystemRepresentation(NULL, (const UInt8 *)path,
                                                         (CFIndex)strlen(path), false);
  GIVES(MusicSequenceFileCreate(sequence, url, kMusicSequenceFile_MIDIType, 0, 96),
        kAudioFilePermissionsError);
  WORKS(MusicSequenceFileCreate(sequence, url, kMusicSequenceFile_MIDIType,
                                kMusicSequenceFileFlags_EraseFile, 96));
  CFDataRef bytes = NULL;
  WORKS(MusicSequenceFileCreateData(sequence, kMusicSequenceFile_MIDIType, 0, 96, &bytes));
  MusicSequence read = NULL;
  WORKS(NewMusicSequence(&read));
  WORKS(MusicSequenceFileLoad(read, url, 0, kMusicSequenceLoadSMF_PreserveTracks));
  WORKS(MusicSequenceFileLoadData(read, bytes, kMusicSequenceFile_MIDIType,
                                  kMusicSequenceLoadSMF_ChannelsToTracks));
  WORKS(MusicSequenceGetTrackCount(read, &count));
  // Two tracks, then one of each channel and one of the rest.
  EQUAL(count, 2 + 3);
  SInt16 resolution = 0;
  size = sizeof resolution;
  MusicTrack tempos = NULL;
  WORKS(MusicSequenceGetTempoTrack(read, &tempos));
  WORKS(MusicTrackGetProperty(tempos, kSequenceTrackProperty_TimeResolution, &resolution, &size));
  EQUAL(resolution, 96);
  CFDictionaryRef info = MusicSequenceGetInfoDictionary(read);
  CHECK(info != NULL);
  EQUAL(CFDictionaryGetCount(info), 1);
  CFRelease(info);
  CFDataRef damaged = CFDataCreate(NULL, CFDataGetBytePtr(bytes), CFDataGetLength(bytes) - 5);
  GIVES(MusicSequenceFileLoadData(read, damaged, 0, 0), kAudioFileInvalidFileError);
  CFRelease(damaged);
  CFRelease(bytes);
  unlink(path);
  GIVES(MusicSequenceFileLoad(read, url, 0, 0), kAudioFileFileNotFoundError);
  CFRelease(url);

  Float64 seconds = 0, beats = 0;
  WORKS(MusicSequenceGetSecondsForBeats(sequence, 3, &seconds));
  WORKS(MusicSequenceGetBeatsForSeconds(sequence, 1.5, &beats));
  CHECK(seconds == 1.5 && beats == 3);
  CABarBeatTime bar;
  WORKS(MusicSequenceBeatsToBarBeatTime(sequence, 5.5, 4, &bar));
  CHECK(bar.bar == 2 && bar.beat == 2 && bar.subbeat == 2 && bar.subbeatDivisor == 4);
  WORKS(MusicSequenceBarBeatTimeToBeats(sequence, &bar, &beats));
  EQUAL(beats, 5.5);
  WORKS(MusicTrackCopyInsert(track, 1, 2, other, 0));
  WORKS(MusicTrackMerge(track, 1, 2, other, 0.5));
  WORKS(MusicTrackMoveEvents(other, 0, 1, 1));
  WORKS(MusicTrackCut(track, 0, 1));
  WORKS(MusicTrackClear(track, 0, 0.5));
  WORKS(MusicSequenceReverse(sequence));
  MusicSequenceType kind = 0;
  WORKS(MusicSequenceSetSequenceType(sequence, kMusicSequenceType_Samples));
  WORKS(MusicSequenceGetSequenceType(sequence, &kind));
  EQUAL(kind, kMusicSequenceType_Samples);
  GIVES(MusicSequenceSetSequenceType(sequence, 'what'), kAudioToolboxErr_InvalidSequenceType);
  WORKS(MusicSequenceDisposeTrack(sequence, other));
  GIVES(MusicSequenceDisposeTrack(sequence, other), kAudioToolboxErr_TrackNotFound);
  WORKS(DisposeMusicSequence(read));
  WORKS(DisposeMusicSequence(sequence));
  passed("events and files");
}

// MARK: On a device

static void plays(cue_capture *card) {
  AUNode node;
  AudioUnit output;
  AUGraph graph = make_graph(kAudioUnitSubType_DefaultOutput, &node, &output);
  MusicSequence sequence = NULL;
  MusicPlayer player = NULL;
  WORKS(NewMusicSequence(&sequence));
  WORKS(MusicSequenceSetAUGraph(sequence, graph));
  MusicTrack track = new_track(sequence);
  for (int i = 0; i < 64; i++)
    add_note(track, i * 0.13, (UInt8)(1 + i), 0.05f);
  WORKS(NewMusicPlayer(&player));
  WORKS(MusicPlayerSetSequence(player, sequence));
  WORKS(MusicPlayerPreroll(player));
  cue_capture_arm(card);
  WORKS(MusicPlayerStart(player));
  Boolean runs = false;
  WORKS(AUGraphIsRunning(graph, &runs));
  CHECK(runs);
  WAIT(beat_of(player) > 1);
  UInt64 host = 0;
  MusicTimeStamp beats = 0;
  WORKS(MusicPlayerGetHostTimeForBeats(player, 3, &host));
  WORKS(MusicPlayerGetBeatsForHostTime(player, host, &beats));
  CHECK(fabs(beats - 3) < 0.01);
  WAIT(beat_of(player) > 8.5);
  record(card, 1024);
  WORKS(MusicPlayerStop(player));
  WORKS(AUGraphStop(graph));
  end_recording(card);
  // A beat has 24,000 frames. The first note says where the sequence began.
  const float *left = cue_capture_samples(card, 0);
  size_t start = find_sound(card, 0);
  for (int i = 0; i < 64; i++) {
    EQUAL(left[start + (size_t)lround(i * 0.13 * 24000)], i + 1);
    EQUAL(left[start + (size_t)lround((i * 0.13 + (double)0.05f) * 24000)], -(i + 1));
  }
  WORKS(DisposeMusicPlayer(player));
  WORKS(DisposeMusicSequence(sequence));
  WORKS(DisposeAUGraph(graph));
  passed("a sequence on a device");
}

// MARK: Endpoints

/// Messages that a virtual destination of this process has taken.
static _Atomic int taken_count;
static Byte taken[1024][3];

static void take(const MIDIPacketList *list, void *data, void *tag) {
  (void)data, (void)tag;
  const MIDIPacket *packet = &list->packet[0];
  for (UInt32 i = 0; i < list->numPackets; i++) {
    for (int at = 0; at + 3 <= packet->length && taken_count < 1024; at += 3) {
      memcpy(taken[taken_count], packet->data + at, 3);
      taken_count++;
    }
    packet = MIDIPacketNext(packet);
  }
}

/// Returns the destination whose port has a name.
static MIDIEndpointRef find_destination(CFStringRef client) {
  for (ItemCount i = 0; i < MIDIGetNumberOfDestinations(); i++) {
    MIDIEndpointRef endpoint = MIDIGetDestination(i);
    CFStringRef name = NULL;
    WORKS(MIDIObjectGetStringProperty(endpoint, kMIDIPropertyDisplayName, &name));
    bool is_it = CFStringHasPrefix(name, client);
    CFRelease(name);
    if (is_it) return endpoint;
  }
  return 0;
}

/// One sequence for an instrument, another program and a destination of this process.
static void endpoints(cue_capture *card) {
  jack_status_t status;
  cue_keys *keys = cue_keys_open(getenv("JACK_DEFAULT_SERVER"), "synth", &status);
  CHECK(keys != NULL);
  MIDIClientRef client = 0;
  MIDIEndpointRef own = 0, other = 0, found = 0;
  WORKS(MIDIClientCreate(CFSTR("endpoints"), NULL, NULL, &client));
  WORKS(MIDIDestinationCreate(client, CFSTR("Own"), take, NULL, &own));
  WAIT((other = find_destination(CFSTR("synth"))) != 0);
  AUNode node;
  AudioUnit output;
  AUGraph graph = make_graph(kAudioUnitSubType_DefaultOutput, &node, &output);
  MusicSequence sequence = NULL;
  MusicPlayer player = NULL;
  WORKS(NewMusicSequence(&sequence));
  WORKS(MusicSequenceSetAUGraph(sequence, graph));
  MusicTrack tracks[3];
  for (int i = 0; i < 3; i++) {
    tracks[i] = new_track(sequence);
    for (int j = 0; j < 64; j++)
      add_note(tracks[i], j * 0.13, (UInt8)(1 + j), 0.05f);
    add_note(tracks[i], 9, 100, 1000);
  }
  GIVES(MusicTrackSetDestMIDIEndpoint(tracks[1], node), kMIDIUnknownEndpoint);
  WORKS(MusicTrackSetDestMIDIEndpoint(tracks[1], other));
  WORKS(MusicTrackSetDestMIDIEndpoint(tracks[2], own));
  WORKS(MusicTrackGetDestMIDIEndpoint(tracks[1], &found));
  EQUAL(found, other);
  GIVES(MusicTrackGetDestMIDIEndpoint(tracks[0], &found), kAudioToolboxErr_IllegalTrackDestination);
  GIVES(MusicTrackGetDestNode(tracks[1], &node), kAudioToolboxErr_IllegalTrackDestination);
  WORKS(NewMusicPlayer(&player));
  WORKS(MusicPlayerSetSequence(player, sequence));
  cue_capture_arm(card);
  WORKS(MusicPlayerStart(player));
  WAIT(cue_keys_heard(keys) >= 129 && taken_count >= 129);
  record(card, 1024);
  // The long note ends with the player.
  WORKS(MusicPlayerStop(player));
  WAIT(cue_keys_heard(keys) == 130 && taken_count == 130);
  WORKS(AUGraphStop(graph));
  end_recording(card);
  // Each message has the frame of the instrument's sound.
  const float *left = cue_capture_samples(card, 0);
  UInt32 first = cue_capture_first_frame(card) - (UInt32)card_delay(card);
  for (size_t i = 0; i < 129; i++) {
    cue_midi_event event = cue_keys_event(keys, i);
    float note = (float)(event.bytes >> 8 & 0x7F);
    EQUAL(left[event.frame - first], (event.bytes >> 16) == 0x90 ? note : -note);
    Byte bytes[] = {(Byte)(event.bytes >> 16), (Byte)(event.bytes >> 8), (Byte)event.bytes};
    CHECK(memcmp(bytes, taken[i], 3) == 0);
  }
  EQUAL(cue_keys_event(keys, 129).bytes, 0x806440);
  WORKS(DisposeMusicPlayer(player));
  WORKS(DisposeMusicSequence(sequence));
  WORKS(DisposeAUGraph(graph));

  // Without a graph, and without an instrument.
  WORKS(NewMusicSequence(&sequence));
  MusicTrack track = new_track(sequence);
  for (int i = 0; i < 8; i++)
    add_note(track, i * 0.25, (UInt8)(60 + i), 0.2f);
  WORKS(MusicSequenceSetMIDIEndpoint(sequence, other));
  GIVES(MusicSequenceSetMIDIEndpoint(sequence, client), kMIDIUnknownEndpoint);
  WORKS(NewMusicPlayer(&player));
  WORKS(MusicPlayerSetSequence(player, sequence));
  WORKS(MusicPlayerStart(player));
  WAIT(cue_keys_heard(keys) == 146);
  UInt32 begin = cue_keys_event(keys, 130).frame;
  for (size_t i = 0; i < 8; i++) {
    cue_midi_event on = cue_keys_event(keys, 130 + 2 * i), off = cue_keys_event(keys, 131 + 2 * i);
    EQUAL(on.frame - begin, i * 6000);
    EQUAL(off.frame - on.frame, 4800);
  }
  WORKS(MusicPlayerStop(player));
  WORKS(MusicSequenceSetMIDIEndpoint(sequence, 0));
  GIVES(MusicTrackGetDestMIDIEndpoint(track, &found), kAudioToolboxErr_IllegalTrackDestination);

  // The same sequence plays the default synthesiser.
  AudioComponentDescription synthesiser = describe(kAudioUnitType_MusicDevice, 'dls ');
  if (AudioComponentFindNext(NULL, &synthesiser)) {
    WORKS(MusicPlayerSetTime(player, 0));
    cue_capture_arm(card);
    WORKS(MusicPlayerStart(player));
    WAIT(beat_of(player) > 2);
    record(card, 1024);
    WORKS(MusicPlayerStop(player));
    end_recording(card);
    CHECK(find_sound(card, 0) < cue_capture_frames(card));
    AUGraph own_graph = NULL;
    UInt32 count = 0;
    WORKS(MusicSequenceGetAUGraph(sequence, &own_graph));
    WORKS(AUGraphGetNodeCount(own_graph, &count));
    EQUAL(count, 2);
  }
  WORKS(DisposeMusicPlayer(player));
  WORKS(DisposeMusicSequence(sequence));
  WORKS(MIDIClientDispose(client));
  cue_keys_close(keys);
  passed("endpoints");
}

int main(void) {
  click_format = planar(RATE, 2);
  CHECK(AudioComponentRegister(&clicks, CFSTR("Test: Click"), 1, click_make) != NULL);
  offline();
  events();
  cue_capture *card = open_card(30);
  plays(card);
  endpoints(card);
  WORKS(AudioHardwareUnload());
  cue_capture_close(card);
  return 0;
}
