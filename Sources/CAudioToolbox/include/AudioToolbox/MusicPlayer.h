// Music sequences: tracks of events in beats, files of them, and a player that sends the events to audio
// units, each on its frame.
//
// Any thread that is not real time may call these functions. Sequences, tracks, iterators and players are
// numbers that are never followed.
#ifndef CUEJACK_MUSICPLAYER_H
#define CUEJACK_MUSICPLAYER_H

#include "../CoreMIDI/MIDIServices.h"
#include "AUGraph.h"
#include "MusicDevice.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

typedef struct OpaqueMusicPlayer *MusicPlayer;
typedef struct OpaqueMusicSequence *MusicSequence;
typedef struct OpaqueMusicTrack *MusicTrack;
typedef struct OpaqueMusicEventIterator *MusicEventIterator;

/// A time in beats from 0 to 1e9.
typedef Float64 MusicTimeStamp;

#define kMusicTimeStamp_EndOfTrack 1000000000.0

CF_ENUM(OSStatus) {
  kAudioToolboxErr_InvalidSequenceType = -10846,
  kAudioToolboxErr_TrackIndexError = -10859,
  kAudioToolboxErr_TrackNotFound = -10858,
  /// The iterator is behind the last event.
  kAudioToolboxErr_EndOfTrack = -10857,
  /// The iterator is on the first event.
  kAudioToolboxErr_StartOfTrack = -10856,
  /// A tempo outside the tempo track, or an event for units in it.
  kAudioToolboxErr_IllegalTrackDestination = -10855,
  kAudioToolboxErr_NoSequence = -10854,
  kAudioToolboxErr_InvalidEventType = -10853,
  /// The player plays, or does not.
  kAudioToolboxErr_InvalidPlayerState = -10852,
  /// There is nothing to play the sequence with.
  kAudioToolboxError_NoTrackDestination = -66720,
  kAudioToolboxErr_CannotDoInCurrentContext = -10863
};

// MARK: Events

typedef UInt32 MusicEventType;
CF_ENUM(UInt32) {
  kMusicEventType_NULL = 0,
  /// ExtendedNoteOnEvent
  kMusicEventType_ExtendedNote = 1,
  /// ExtendedTempoEvent
  kMusicEventType_ExtendedTempo = 3,
  /// MusicEventUserData
  kMusicEventType_User = 4,
  /// MIDIMetaEvent
  kMusicEventType_Meta = 5,
  /// MIDINoteMessage
  kMusicEventType_MIDINoteMessage = 6,
  /// MIDIChannelMessage
  kMusicEventType_MIDIChannelMessage = 7,
  /// MIDIRawData
  kMusicEventType_MIDIRawData = 8,
  /// ParameterEvent
  kMusicEventType_Parameter = 9
};

/// A note. A velocity of 0 counts as 1.
typedef struct MIDINoteMessage {
  UInt8 channel;
  UInt8 note;
  UInt8 velocity;
  /// Velocity of the note's end.
  UInt8 releaseVelocity;
  /// Beats.
  Float32 duration;
} MIDINoteMessage;

/// A message with its channel. Notes are MIDINoteMessages; note messages here begin or end what sounds.
typedef struct MIDIChannelMessage {
  UInt8 status;
  UInt8 data1;
  /// 0 if the message has one data byte.
  UInt8 data2;
  UInt8 reserved;
} MIDIChannelMessage;

/// A system message, such as a system exclusive one from 0xF0 to 0xF7.
typedef struct MIDIRawData {
  /// Bytes of `data`.
  UInt32 length;
  UInt8 data[1];
} MIDIRawData;

/// A meta event of MIDI files.
typedef struct MIDIMetaEvent {
  UInt8 metaEventType;
  UInt8 unused1;
  UInt8 unused2;
  UInt8 unused3;
  /// Bytes of `data`.
  UInt32 dataLength;
  UInt8 data[1];
} MIDIMetaEvent;

/// Data of the program, for its MusicSequenceUserCallback.
typedef struct MusicEventUserData {
  /// Bytes of `data`.
  UInt32 length;
  UInt8 data[1];
} MusicEventUserData;

/// A note of any pitch. Units here hear it as the nearest MIDI note of a channel.
typedef struct ExtendedNoteOnEvent {
  MusicDeviceInstrumentID instrumentID;
  /// The MIDI channel, 0 to 15.
  MusicDeviceGroupID groupID;
  /// Beats.
  Float32 duration;
  MusicDeviceNoteParams extendedParams;
} ExtendedNoteOnEvent;

/// A parameter of the track's unit.
typedef struct ParameterEvent {
  AudioUnitParameterID parameterID;
  AudioUnitScope scope;
  AudioUnitElement element;
  AudioUnitParameterValue value;
} ParameterEvent;

/// Beats a minute.
typedef struct ExtendedTempoEvent {
  Float64 bpm;
} ExtendedTempoEvent;

/// A place in bars: bar and beat are counted from 1, parts of a beat from 0.
typedef struct CABarBeatTime {
  SInt32 bar;
  UInt16 beat;
  UInt16 subbeat;
  UInt16 subbeatDivisor;
  UInt16 reserved;
} CABarBeatTime;

// MARK: Players

/// Makes a player.
extern OSStatus NewMusicPlayer(MusicPlayer _Nullable *_Nonnull outPlayer);

/// Stops a player and disposes of it.
extern OSStatus DisposeMusicPlayer(MusicPlayer inPlayer);

/// Sets the sequence; NULL for none. The player goes to beat 0.
///
/// - Returns: kAudioToolboxErr_InvalidPlayerState while the player plays.
extern OSStatus MusicPlayerSetSequence(MusicPlayer inPlayer, MusicSequence _Nullable inSequence);

/// Returns the sequence.
///
/// - Returns: kAudioToolboxErr_NoSequence.
extern OSStatus MusicPlayerGetSequence(MusicPlayer inPlayer,
                                       MusicSequence _Nullable *_Nonnull outSequence);

/// Goes to a beat, also while the player plays: notes that sound end.
extern OSStatus MusicPlayerSetTime(MusicPlayer inPlayer, MusicTimeStamp inTime);

/// Returns the beat up to which the sequence was rendered.
extern OSStatus MusicPlayerGetTime(MusicPlayer inPlayer, MusicTimeStamp *outTime);

/// Returns the host time of a beat, while a device plays.
///
/// - Returns: kAudioToolboxErr_InvalidPlayerState.
extern OSStatus MusicPlayerGetHostTimeForBeats(MusicPlayer inPlayer, MusicTimeStamp inBeats,
                                               UInt64 *outHostTime);

/// Returns the beat of a host time, while a device plays.
///
/// - Returns: kAudioToolboxErr_InvalidPlayerState.
extern OSStatus MusicPlayerGetBeatsForHostTime(MusicPlayer inPlayer, UInt64 inHostTime,
                                               MusicTimeStamp *outBeats);

/// Opens and initialises the graph of the sequence. MusicPlayerStart does that, too.
///
/// - Returns: kAudioToolboxErr_NoSequence; kAudioToolboxError_NoTrackDestination if the sequence has no graph
///   and there is no synthesiser for a graph of its own.
extern OSStatus MusicPlayerPreroll(MusicPlayer inPlayer);

/// Starts the graph, if it does not run, and plays from its next render on. The player goes on after the last
/// event, until MusicPlayerStop.
extern OSStatus MusicPlayerStart(MusicPlayer inPlayer);

/// Stops the player, with the notes that sound. The graph goes on.
extern OSStatus MusicPlayerStop(MusicPlayer inPlayer);

/// Tells whether MusicPlayerStart was called after MusicPlayerStop.
extern OSStatus MusicPlayerIsPlaying(MusicPlayer inPlayer, Boolean *outIsPlaying);

/// Sets how much faster than its tempo the sequence is played: 0.001 to 1000.
extern OSStatus MusicPlayerSetPlayRateScalar(MusicPlayer inPlayer, Float64 inScaleRate);
extern OSStatus MusicPlayerGetPlayRateScalar(MusicPlayer inPlayer, Float64 *outScaleRate);

// MARK: Sequences

typedef CF_ENUM(UInt32, MusicSequenceType){
    kMusicSequenceType_Beats = 'beat',
    /// A beat is a share of a second: the tempo is 60 for seconds.
    kMusicSequenceType_Seconds = 'secs',
    /// A beat is a frame: the tempo is 60 times the sample rate.
    kMusicSequenceType_Samples = 'samp'};

typedef CF_OPTIONS(UInt32, MusicSequenceLoadFlags){
    /// The tracks of the file.
    kMusicSequenceLoadSMF_PreserveTracks = 0,
    /// A track for each MIDI channel, and a last one for what belongs to none.
    kMusicSequenceLoadSMF_ChannelsToTracks = 1 << 0};

typedef CF_ENUM(UInt32, MusicSequenceFileTypeID){
    kMusicSequenceFile_AnyType = 0, kMusicSequenceFile_MIDIType = 'midi'};

typedef CF_OPTIONS(UInt32, MusicSequenceFileFlags){
    kMusicSequenceFileFlags_Default = 0,
    /// Replaces a file that exists.
    kMusicSequenceFileFlags_EraseFile = 1};

/// Hears of a user event, on a thread of the library soon after its time.
///
/// - inEventData: valid during the call.
/// - inStartSliceBeat, inEndSliceBeat: the beats between which the library looked for events.
typedef void (*MusicSequenceUserCallback)(void *_Nullable inClientData, MusicSequence inSequence,
                                          MusicTrack inTrack, MusicTimeStamp inEventTime,
                                          const MusicEventUserData *inEventData,
                                          MusicTimeStamp inStartSliceBeat,
                                          MusicTimeStamp inEndSliceBeat);

/// Makes a sequence without tracks, at 120 beats a minute.
extern OSStatus NewMusicSequence(MusicSequence _Nullable *_Nonnull outSequence);

/// Disposes of a sequence with its tracks.
///
/// - Returns: kAudioToolboxErr_InvalidPlayerState while it is played.
extern OSStatus DisposeMusicSequence(MusicSequence inSequence);

/// Adds a track.
extern OSStatus MusicSequenceNewTrack(MusicSequence inSequence,
                                      MusicTrack _Nullable *_Nonnull outTrack);

/// Removes a track. The tempo track stays: kAudioToolboxErr_TrackNotFound.
extern OSStatus MusicSequenceDisposeTrack(MusicSequence inSequence, MusicTrack inTrack);

/// Returns the number of tracks, without the tempo track.
extern OSStatus MusicSequenceGetTrackCount(MusicSequence inSequence, UInt32 *outNumberOfTracks);
extern OSStatus MusicSequenceGetIndTrack(MusicSequence inSequence, UInt32 inTrackIndex,
                                         MusicTrack _Nullable *_Nonnull outTrack);
extern OSStatus MusicSequenceGetTrackIndex(MusicSequence inSequence, MusicTrack inTrack,
                                           UInt32 *outTrackIndex);

/// Returns the track of tempos, and of the meta events of MIDI files for time.
extern OSStatus MusicSequenceGetTempoTrack(MusicSequence inSequence,
                                           MusicTrack _Nullable *_Nonnull outTrack);

/// Sets the graph whose units play the sequence; NULL for one of the library's own. The graph must stay until
/// the sequence has another, or none.
extern OSStatus MusicSequenceSetAUGraph(MusicSequence inSequence, AUGraph _Nullable inGraph);

/// Returns the graph. A sequence without one gets one of the library's own: the default synthesiser and the default
/// output. It stays as long as the sequence has no other.
///
/// - Returns: kAudioToolboxError_NoTrackDestination without a synthesiser.
extern OSStatus MusicSequenceGetAUGraph(MusicSequence inSequence,
                                        AUGraph _Nullable *_Nonnull outGraph);

/// Lets all tracks be played to an endpoint, as MusicTrackSetDestMIDIEndpoint does; 0 for instruments again.
extern OSStatus MusicSequenceSetMIDIEndpoint(MusicSequence inSequence, MIDIEndpointRef inEndpoint);

extern OSStatus MusicSequenceSetSequenceType(MusicSequence inSequence, MusicSequenceType inType);
extern OSStatus MusicSequenceGetSequenceType(MusicSequence inSequence, MusicSequenceType *outType);

/// Adds the tracks of a MIDI file of format 0 or 1 to a sequence. The tempo track becomes that of the file.
///
/// - Returns: kAudioFileInvalidFileError with the place of the damage in the log;
///   kAudioToolboxErr_InvalidSequenceType for format 2.
extern OSStatus MusicSequenceFileLoad(MusicSequence inSequence, CFURLRef inFileRef,
                                      MusicSequenceFileTypeID inFileTypeHint,
                                      MusicSequenceLoadFlags inFlags);

/// Adds the tracks of a MIDI file in memory.
extern OSStatus MusicSequenceFileLoadData(MusicSequence inSequence, CFDataRef inData,
                                          MusicSequenceFileTypeID inFileTypeHint,
                                          MusicSequenceLoadFlags inFlags);

/// Writes a sequence as a MIDI file of format 1, without loops, parameters and user events.
///
/// - inResolution: ticks of a quarter note; 0 for those of the loaded file, or 480.
/// - Returns: kAudioFilePermissionsError if the file exists and may not be replaced.
extern OSStatus MusicSequenceFileCreate(MusicSequence inSequence, CFURLRef inFileRef,
                                        MusicSequenceFileTypeID inFileType,
                                        MusicSequenceFileFlags inFlags, SInt16 inResolution);

/// Returns the bytes of such a file. The caller releases them.
extern OSStatus MusicSequenceFileCreateData(MusicSequence inSequence,
                                            MusicSequenceFileTypeID inFileType,
                                            MusicSequenceFileFlags inFlags, SInt16 inResolution,
                                            CFDataRef _Nullable *_Nonnull outData);

/// Lets all events come in the opposite order.
extern OSStatus MusicSequenceReverse(MusicSequence inSequence);

extern OSStatus MusicSequenceGetSecondsForBeats(MusicSequence inSequence, MusicTimeStamp inBeats,
                                                Float64 *outSeconds);
extern OSStatus MusicSequenceGetBeatsForSeconds(MusicSequence inSequence, Float64 inSeconds,
                                                MusicTimeStamp *outBeats);

/// Sets the function that hears of user events; NULL for none.
extern OSStatus MusicSequenceSetUserCallback(MusicSequence inSequence,
                                             MusicSequenceUserCallback _Nullable inCallback,
                                             void *_Nullable inClientData);

/// Returns the bar of a beat by the time signatures of the tempo track, or in 4/4.
///
/// - inSubbeatDivisor: parts of a beat.
extern OSStatus MusicSequenceBeatsToBarBeatTime(MusicSequence inSequence, MusicTimeStamp inBeats,
                                                UInt32 inSubbeatDivisor,
                                                CABarBeatTime *outBarBeatTime);
extern OSStatus MusicSequenceBarBeatTimeToBeats(MusicSequence inSequence,
                                                const CABarBeatTime *inBarBeatTime,
                                                MusicTimeStamp *outBeats);

/// Returns what loaded files say of the sequence: strings by the keys of AudioFile.h. The caller releases it.
extern CFDictionaryRef _Nullable MusicSequenceGetInfoDictionary(MusicSequence inSequence)
    CF_RETURNS_RETAINED;

// MARK: Tracks

/// How the end of a track is repeated.
typedef struct MusicTrackLoopInfo {
  /// Beats before the end at which the loop begins; 0 for no loop.
  MusicTimeStamp loopDuration;
  /// How often it is played; 0 for no end.
  SInt32 numberOfLoops;
} MusicTrackLoopInfo;

CF_ENUM(UInt32) {
  /// MusicTrackLoopInfo, read and written.
  kSequenceTrackProperty_LoopInfo = 0,
  /// MusicTimeStamp, read and written: beats by which all events are later.
  kSequenceTrackProperty_OffsetTime = 1,
  /// Boolean, read and written.
  kSequenceTrackProperty_MuteStatus = 2,
  /// Boolean, read and written. If a track has it, only tracks that have it are heard.
  kSequenceTrackProperty_SoloStatus = 3,
  /// UInt32, read and written: 1 for a track of parameters.
  kSequenceTrackProperty_AutomatedParameters = 4,
  /// MusicTimeStamp, read and written: the length in beats, behind which events are not played; 0 is written for
  /// that of the events.
  kSequenceTrackProperty_TrackLength = 5,
  /// SInt16, read, of the tempo track: ticks of a quarter note in files.
  kSequenceTrackProperty_TimeResolution = 6
};

extern OSStatus MusicTrackGetSequence(MusicTrack inTrack,
                                      MusicSequence _Nullable *_Nonnull outSequence);

/// Sets the node of the sequence's graph whose unit plays the track; 0 for the first instrument of the graph.
extern OSStatus MusicTrackSetDestNode(MusicTrack inTrack, AUNode inNode);

/// Returns the node.
///
/// - Returns: kAudioToolboxErr_IllegalTrackDestination if none was set.
extern OSStatus MusicTrackGetDestNode(MusicTrack inTrack, AUNode *outNode);

/// Sets the destination of MIDI messages that plays the track: another program's or a virtual one of this process; 0 for
/// an instrument again. Each message goes out on the frame that the graph renders then, from a JACK port of the graph's
/// client. Parameters are left out. A graph that the program renders sends nothing.
///
/// - Returns: kMIDIUnknownEndpoint, or kMIDIWrongEndpointType for a source.
extern OSStatus MusicTrackSetDestMIDIEndpoint(MusicTrack inTrack, MIDIEndpointRef inEndpoint);

/// Returns the endpoint.
///
/// - Returns: kAudioToolboxErr_IllegalTrackDestination if none was set.
extern OSStatus MusicTrackGetDestMIDIEndpoint(MusicTrack inTrack, MIDIEndpointRef *outEndpoint);

extern OSStatus MusicTrackSetProperty(MusicTrack inTrack, UInt32 inPropertyID, void *inData,
                                      UInt32 inLength);

/// - ioLength: bytes of outData; receives those of the value. With outData NULL, only the length is returned.
extern OSStatus MusicTrackGetProperty(MusicTrack inTrack, UInt32 inPropertyID,
                                      void *_Nullable outData, UInt32 *ioLength);

/// Moves the events from inStartTime on and before inEndTime.
extern OSStatus MusicTrackMoveEvents(MusicTrack inTrack, MusicTimeStamp inStartTime,
                                     MusicTimeStamp inEndTime, MusicTimeStamp inMoveTime);

/// Removes events.
extern OSStatus MusicTrackClear(MusicTrack inTrack, MusicTimeStamp inStartTime,
                                MusicTimeStamp inEndTime);

/// Removes events with their time: later ones come earlier.
extern OSStatus MusicTrackCut(MusicTrack inTrack, MusicTimeStamp inStartTime,
                              MusicTimeStamp inEndTime);

/// Inserts events with their time into another track: later ones there come later.
extern OSStatus MusicTrackCopyInsert(MusicTrack inSourceTrack, MusicTimeStamp inSourceStartTime,
                                     MusicTimeStamp inSourceEndTime, MusicTrack inDestTrack,
                                     MusicTimeStamp inDestInsertTime);

/// Adds events to those of another track.
extern OSStatus MusicTrackMerge(MusicTrack inSourceTrack, MusicTimeStamp inSourceStartTime,
                                MusicTimeStamp inSourceEndTime, MusicTrack inDestTrack,
                                MusicTimeStamp inDestInsertTime);

// MARK: New events

extern OSStatus MusicTrackNewMIDINoteEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                           const MIDINoteMessage *inMessage);
extern OSStatus MusicTrackNewMIDIChannelEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                              const MIDIChannelMessage *inMessage);
extern OSStatus MusicTrackNewMIDIRawDataEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                              const MIDIRawData *inRawData);
extern OSStatus MusicTrackNewExtendedNoteEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                               const ExtendedNoteOnEvent *inInfo);
extern OSStatus MusicTrackNewParameterEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                            const ParameterEvent *inInfo);

/// Adds a tempo of 0.001 to 1,000,000 beats a minute to the tempo track.
extern OSStatus MusicTrackNewExtendedTempoEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                                Float64 inBPM);
extern OSStatus MusicTrackNewMetaEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                       const MIDIMetaEvent *inMetaEvent);
extern OSStatus MusicTrackNewUserEvent(MusicTrack inTrack, MusicTimeStamp inTimeStamp,
                                       const MusicEventUserData *inUserData);

// MARK: Iterators. They stay valid while the track changes.

/// Makes an iterator on the first event.
extern OSStatus NewMusicEventIterator(MusicTrack inTrack,
                                      MusicEventIterator _Nullable *_Nonnull outIterator);
extern OSStatus DisposeMusicEventIterator(MusicEventIterator inIterator);

/// Goes to the first event that is not before a time.
extern OSStatus MusicEventIteratorSeek(MusicEventIterator inIterator, MusicTimeStamp inTimeStamp);

/// Goes to the next event, or behind the last one.
extern OSStatus MusicEventIteratorNextEvent(MusicEventIterator inIterator);
extern OSStatus MusicEventIteratorPreviousEvent(MusicEventIterator inIterator);

/// Returns the event.
///
/// - outEventData: receives a structure of the event's type, which stays until the next call with the iterator.
/// - Returns: kAudioToolboxErr_EndOfTrack behind the last event.
extern OSStatus MusicEventIteratorGetEventInfo(MusicEventIterator inIterator,
                                               MusicTimeStamp *_Nullable outTimeStamp,
                                               MusicEventType *_Nullable outEventType,
                                               const void *_Nullable *_Nullable outEventData,
                                               UInt32 *_Nullable outEventDataSize);

/// Replaces the event by one of the same time.
extern OSStatus MusicEventIteratorSetEventInfo(MusicEventIterator inIterator,
                                               MusicEventType inEventType, const void *inEventData);

/// Removes the event. The iterator is on the next one then.
extern OSStatus MusicEventIteratorDeleteEvent(MusicEventIterator inIterator);

/// Moves the event. The iterator stays on it.
extern OSStatus MusicEventIteratorSetEventTime(MusicEventIterator inIterator,
                                               MusicTimeStamp inTimeStamp);
extern OSStatus MusicEventIteratorHasPreviousEvent(MusicEventIterator inIterator,
                                                   Boolean *outHasPrevEvent);
extern OSStatus MusicEventIteratorHasNextEvent(MusicEventIterator inIterator,
                                               Boolean *outHasNextEvent);
extern OSStatus MusicEventIteratorHasCurrentEvent(MusicEventIterator inIterator,
                                                  Boolean *outHasCurEvent);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
