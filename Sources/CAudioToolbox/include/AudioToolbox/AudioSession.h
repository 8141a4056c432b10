// The audio session: what a program wants of the sound card, what it gets, and what happens to it.
//
// The sound card is that of the default JACK server. A program that never calls
// AudioSessionInitialize is not restricted in any way. Any thread that is not real time may call
// these functions.
#ifndef CUEJACK_AUDIOSESSION_H
#define CUEJACK_AUDIOSESSION_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A property of the session: a four-character code.
typedef UInt32 AudioSessionPropertyID;
/// Whether a program should go on after an interruption.
typedef UInt32 AudioSessionInterruptionType;

CF_ENUM(OSStatus) {
  kAudioSessionNoError = 0,
  /// AudioSessionInitialize has not been called.
  kAudioSessionNotInitialized = '!ini',
  /// AudioSessionInitialize has been called before.
  kAudioSessionAlreadyInitialized = 'init',
  /// The session cannot be initialised. Does not occur here.
  kAudioSessionInitializationError = 'ini?',
  /// The property does not exist, cannot be read, set or listened to, or does not take this value.
  kAudioSessionUnsupportedPropertyError = 'pty?',
  /// The size does not match the property's value.
  kAudioSessionBadPropertySizeError = '!siz',
  /// The session is not active. Does not occur here: what starts makes the session active.
  kAudioSessionNotActiveError = '!act',
  /// The JACK server cannot be reached, or has gone; the log has details.
  kAudioServicesNoHardwareError = 'nohw',
  /// No category has been set. Does not occur here: SoloAmbientSound is the first one.
  kAudioSessionNoCategorySet = '?cat',
  /// The category does not allow it. AudioQueueStart, AudioOutputUnitStart and AUGraphStart return
  /// it, too.
  kAudioSessionIncompatibleCategory = '!cat',
  /// An error without a code of its own. Does not occur here.
  kAudioSessionUnspecifiedError = 'what'
};

// MARK: Interruptions

/// States of an interruption: the JACK server has gone, and it is back.
CF_ENUM(UInt32) { kAudioSessionBeginInterruption = 1, kAudioSessionEndInterruption = 0 };

CF_ENUM(AudioSessionInterruptionType) {
  /// The program may go on. Each interruption has this type here.
  kAudioSessionInterruptionType_ShouldResume = 'irsm',
  kAudioSessionInterruptionType_ShouldNotResume = '!rsm'
};

/// Called when an interruption begins or ends. Playing queues and output units go on by themselves
/// after it.
typedef void (*AudioSessionInterruptionListener)(void *_Nullable inClientData,
                                                 UInt32 inInterruptionState);

// MARK: Categories and modes

/// Values of kAudioSessionProperty_AudioCategory. They decide what may start. JACK mixes the sound
/// of all programs, whatever the category.
CF_ENUM(UInt32) {
  /// Playback.
  kAudioSessionCategory_AmbientSound = 'ambi',
  /// Playback. The first category.
  kAudioSessionCategory_SoloAmbientSound = 'solo',
  /// Playback.
  kAudioSessionCategory_MediaPlayback = 'medi',
  /// Recording. An output unit that also plays is silent.
  kAudioSessionCategory_RecordAudio = 'reca',
  /// Playback and recording.
  kAudioSessionCategory_PlayAndRecord = 'plar',
  /// Neither playback nor recording.
  kAudioSessionCategory_AudioProcessing = 'proc'
};

/// Values of kAudioSessionProperty_Mode. Nothing processes the signal here, in any mode.
CF_ENUM(UInt32) {
  kAudioSessionMode_Default = 'dflt',
  /// With PlayAndRecord only.
  kAudioSessionMode_VoiceChat = 'vcct',
  /// With PlayAndRecord and RecordAudio only.
  kAudioSessionMode_VideoRecording = 'vrcd',
  kAudioSessionMode_Measurement = 'msmt',
  /// With PlayAndRecord only.
  kAudioSessionMode_GameChat = 'gmct'
};

/// Values of kAudioSessionProperty_OverrideAudioRoute.
CF_ENUM(UInt32) {
  kAudioSessionOverrideAudioRoute_None = 0,
  /// With PlayAndRecord only. The sound card's ports are the speaker: sound does not move.
  kAudioSessionOverrideAudioRoute_Speaker = 'spkr'
};

// MARK: Routes

/// A constant string that also initialises static variables, which CFSTR does not.
#define CUE_STRING(text) ((CFStringRef)__builtin___CFStringMakeConstantString(text))

/// Reasons of a route change.
CF_ENUM(UInt32) {
  kAudioSessionRouteChangeReason_Unknown = 0,
  /// A port of the program has been connected to one of the sound card.
  kAudioSessionRouteChangeReason_NewDeviceAvailable = 1,
  /// A port of the program has been disconnected from one of the sound card, or that port has gone.
  kAudioSessionRouteChangeReason_OldDeviceUnavailable = 2,
  /// The category has changed.
  kAudioSessionRouteChangeReason_CategoryChange = 3,
  /// Does not occur here.
  kAudioSessionRouteChangeReason_Override = 4,
  /// Does not occur here.
  kAudioSessionRouteChangeReason_WakeFromSleep = 6,
  /// The category has changed to one that records, and the sound card has no input.
  kAudioSessionRouteChangeReason_NoSuitableRouteForCategory = 7,
  /// Does not occur here.
  kAudioSessionRouteChangeReason_RouteConfigurationChange = 8
};

// Keys of the dictionary that a listener of kAudioSessionProperty_AudioRouteChange gets.

/// CFNumber: the reason. A C string, for CFSTR.
#define kAudioSession_AudioRouteChangeKey_Reason "OutputDeviceDidChange_Reason"
/// CFString: the route before, as kAudioSessionProperty_AudioRoute has it. A C string, for CFSTR.
#define kAudioSession_AudioRouteChangeKey_OldRoute "OutputDeviceDidChange_OldRoute"
/// CFNumber: the reason.
#define kAudioSession_RouteChangeKey_Reason CUE_STRING(kAudioSession_AudioRouteChangeKey_Reason)
/// CFDictionary: the route before, as kAudioSessionProperty_AudioRouteDescription has it.
#define kAudioSession_AudioRouteChangeKey_PreviousRouteDescription                                 \
  CUE_STRING("ActiveAudioRouteDidChange_OldDetailedRoute")
/// CFDictionary: the route now, as kAudioSessionProperty_AudioRouteDescription has it.
#define kAudioSession_AudioRouteChangeKey_CurrentRouteDescription                                  \
  CUE_STRING("ActiveAudioRouteDidChange_NewDetailedRoute")

// Keys of kAudioSessionProperty_AudioRouteDescription.

/// CFArray of CFDictionary: the sound cards that the program records from.
#define kAudioSession_AudioRouteKey_Inputs CUE_STRING("RouteDetailedDescription_Inputs")
/// CFArray of CFDictionary: the sound cards that the program plays to.
#define kAudioSession_AudioRouteKey_Outputs CUE_STRING("RouteDetailedDescription_Outputs")
/// CFString: the type of a sound card's ports. It is LineIn or LineOut here.
///
/// Beside it, "RouteDetailedDescription_Name" is the card's JACK client,
/// "RouteDetailedDescription_UID" its UID, and "RouteDetailedDescription_ChannelDescriptions" a
/// CFArray of CFDictionary, whose "ChannelDescription_Name" is the full name of a JACK port.
#define kAudioSession_AudioRouteKey_Type CUE_STRING("RouteDetailedDescription_PortType")

// Types of inputs and outputs, for comparisons.

#define kAudioSessionInputRoute_LineIn           CUE_STRING("LineIn")
#define kAudioSessionInputRoute_BuiltInMic       CUE_STRING("MicrophoneBuiltIn")
#define kAudioSessionInputRoute_HeadsetMic       CUE_STRING("MicrophoneWired")
#define kAudioSessionInputRoute_BluetoothHFP     CUE_STRING("BluetoothHFP")
#define kAudioSessionInputRoute_USBAudio         CUE_STRING("USBAudio")
#define kAudioSessionOutputRoute_LineOut         CUE_STRING("LineOut")
#define kAudioSessionOutputRoute_Headphones      CUE_STRING("Headphones")
#define kAudioSessionOutputRoute_BluetoothHFP    CUE_STRING("BluetoothHFP")
#define kAudioSessionOutputRoute_BluetoothA2DP   CUE_STRING("BluetoothA2DPOutput")
#define kAudioSessionOutputRoute_BuiltInReceiver CUE_STRING("Receiver")
#define kAudioSessionOutputRoute_BuiltInSpeaker  CUE_STRING("Speaker")
#define kAudioSessionOutputRoute_USBAudio        CUE_STRING("USBAudio")
#define kAudioSessionOutputRoute_HDMI            CUE_STRING("HDMIOutput")
#define kAudioSessionOutputRoute_AirPlay         CUE_STRING("AirPlay")

// MARK: Properties

CF_ENUM(AudioSessionPropertyID) {
  /// Float64, read and set: the wanted sample rate in Hz; 0 for any. JACK has one rate for all
  /// programs, so it changes nothing: read CurrentHardwareSampleRate.
  kAudioSessionProperty_PreferredHardwareSampleRate = 'hwsr',
  /// Float32, read and set: the wanted length in seconds of a call of the program's output units; 0
  /// for the server's period. It takes effect at once, within 16 to 4,096 frames, as
  /// kAudioDevicePropertyBufferFrameSize does.
  kAudioSessionProperty_PreferredHardwareIOBufferDuration = 'iobd',
  /// UInt32, read and set: the category. A change resets the overrides, and a mode that the new
  /// category does not allow.
  kAudioSessionProperty_AudioCategory = 'acat',
  /// CFDictionaryRef, for listeners: a program has connected or disconnected a port of this program
  /// and one of the sound card, or the category has changed. The argument is the dictionary itself.
  kAudioSessionProperty_AudioRouteChange = 'roch',
  /// Float64, read: the server's sample rate in Hz.
  kAudioSessionProperty_CurrentHardwareSampleRate = 'chsr',
  /// UInt32, read and for listeners: the number of the sound card's inputs.
  kAudioSessionProperty_CurrentHardwareInputNumberChannels = 'chic',
  /// UInt32, read and for listeners: the number of the sound card's outputs; 2, connected to
  /// nothing, if it has none.
  kAudioSessionProperty_CurrentHardwareOutputNumberChannels = 'choc',
  /// Float32, read and for listeners: the volume of the program's output from 0 to 1, that of the
  /// device in AudioHardware.h.
  kAudioSessionProperty_CurrentHardwareOutputVolume = 'chov',
  /// Float32, read: the input latency in seconds.
  kAudioSessionProperty_CurrentHardwareInputLatency = 'cilt',
  /// Float32, read: the output latency in seconds.
  kAudioSessionProperty_CurrentHardwareOutputLatency = 'colt',
  /// Float32, read: the length in seconds of a call of the program's output units.
  kAudioSessionProperty_CurrentHardwareIOBufferDuration = 'chbd',
  /// UInt32, read: 1 if a port of another program is connected to an output of the sound card.
  kAudioSessionProperty_OtherAudioIsPlaying = 'othr',
  /// UInt32, set: None, or Speaker.
  kAudioSessionProperty_OverrideAudioRoute = 'ovrd',
  /// UInt32, read and for listeners: 1 if the sound card has an input, whatever the category.
  kAudioSessionProperty_AudioInputAvailable = 'aiav',
  /// UInt32, for listeners: the JACK server has gone. The value is 1.
  kAudioSessionProperty_ServerDied = 'died',
  /// UInt32, read and set: 1 to mix with other programs, which JACK always does. Only PlayAndRecord
  /// and MediaPlayback take 1.
  kAudioSessionProperty_OverrideCategoryMixWithOthers = 'cmix',
  /// UInt32, read and set: 1 for the speaker, which the sound card's ports always are. Only
  /// PlayAndRecord takes 1.
  kAudioSessionProperty_OverrideCategoryDefaultToSpeaker = 'cspk',
  /// UInt32, read in an interruption listener at the end of an interruption: its type.
  kAudioSessionProperty_InterruptionType = 'type',
  /// UInt32, read and set: the mode.
  kAudioSessionProperty_Mode = 'mode',
  /// UInt32, read and for listeners: 0. JACK has no gain of inputs.
  kAudioSessionProperty_InputGainAvailable = 'igav',
  /// Float32, valid only while InputGainAvailable is 1: neither read nor set here.
  kAudioSessionProperty_InputGainScalar = 'igsc',
  /// CFDictionaryRef, read: the ports of the sound card that ports of the program are connected to.
  /// A direction in which the program has no ports has all of the card's ports, one that the
  /// category does not allow has none. The caller releases it.
  kAudioSessionProperty_AudioRouteDescription = 'crar',
  /// CFStringRef, read: "LineOut", "LineIn", "LineInOut", or "" for no route. The caller releases
  /// it.
  kAudioSessionProperty_AudioRoute = 'rout'
};

/// Called when a property changes. A CFDictionaryRef is passed as `inData` itself; other values are
/// at `inData`.
typedef void (*AudioSessionPropertyListener)(void *_Nullable inClientData,
                                             AudioSessionPropertyID inID, UInt32 inDataSize,
                                             const void *_Nullable inData);

// MARK: Functions

/// Initialises the session, once. Afterwards its category decides what may start.
///
/// Listeners are called on the run loop (NULL: the main thread's) in the mode (NULL: the default
/// one) if it runs, otherwise on a thread of the library. They are never called inside a function
/// of this header. AVAudioSession.sharedInstance() of Swift initialises the session, too, for the main
/// thread's run loop.
extern OSStatus
AudioSessionInitialize(CFRunLoopRef _Nullable inRunLoop, CFStringRef _Nullable inRunLoopMode,
                       AudioSessionInterruptionListener _Nullable inInterruptionListener,
                       void *_Nullable inClientData);

/// Makes the session active, or not. An active session keeps a JACK client open and hears of
/// interruptions; a queue or an output unit that starts makes it active, too. Queues and units
/// that run keep running when the session becomes inactive.
///
/// - Returns: kAudioServicesNoHardwareError if the server cannot be reached or has gone.
extern OSStatus AudioSessionSetActive(Boolean active);

CF_ENUM(UInt32) {
  /// Tells other programs that they may go on. JACK interrupts none.
  kAudioSessionSetActiveFlag_NotifyOthersOnDeactivation = (1 << 0)
};

/// Does the same as AudioSessionSetActive. Flags change nothing here.
extern OSStatus AudioSessionSetActiveWithFlags(Boolean active, UInt32 inFlags);

/// Copies a property's value. `ioDataSize` is at least the size of the value, and becomes it.
extern OSStatus AudioSessionGetProperty(AudioSessionPropertyID inID, UInt32 *ioDataSize,
                                        void *outData);

/// Sets a property. `inDataSize` is the size of its value.
extern OSStatus AudioSessionSetProperty(AudioSessionPropertyID inID, UInt32 inDataSize,
                                        const void *inData);

/// Returns the size of a property's value in bytes.
extern OSStatus AudioSessionGetPropertySize(AudioSessionPropertyID inID, UInt32 *outDataSize);

/// Adds a function to call when a property changes. Adding it twice with the same data is no error.
extern OSStatus AudioSessionAddPropertyListener(AudioSessionPropertyID inID,
                                                AudioSessionPropertyListener inProc,
                                                void *_Nullable inClientData);

/// Removes all functions that are called when a property changes. No call begins afterwards.
extern OSStatus AudioSessionRemovePropertyListener(AudioSessionPropertyID inID);

/// Removes a function that was added with these data. No call of it begins afterwards. One that is
/// not there is no error.
extern OSStatus
AudioSessionRemovePropertyListenerWithUserData(AudioSessionPropertyID inID,
                                               AudioSessionPropertyListener inProc,
                                               void *_Nullable inClientData);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
