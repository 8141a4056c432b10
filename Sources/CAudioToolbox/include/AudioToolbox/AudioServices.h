// System sounds: short files that play with one call. Any thread that is not real time may call
// these functions.
#ifndef CUEJACK_AUDIOSERVICES_H
#define CUEJACK_AUDIOSERVICES_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A system sound: created from a file by AudioServicesCreateSystemSoundID, or one of the
/// constants.
typedef UInt32 SystemSoundID;
typedef UInt32 AudioServicesPropertyID;

/// Called each time a sound has finished.
typedef void (*AudioServicesSystemSoundCompletionProc)(SystemSoundID ssID,
                                                       void *_Nullable clientData);

CF_ENUM(SystemSoundID) {
  /// Screen flash and vibration, as on phones. Not available here: playing them makes no sound and
  /// finishes at once. They have completions and properties like all sounds.
  kSystemSoundID_FlashScreen = 0x00000FFE,
  kSystemSoundID_Vibrate = 0x00000FFF,
  /// A tone that always exists.
  kSystemSoundID_UserPreferredAlert = 0x00001000,
  kUserPreferredAlert = kSystemSoundID_UserPreferredAlert
};

CF_ENUM(OSStatus) {
  kAudioServicesNoError = 0,
  /// The property does not exist.
  kAudioServicesUnsupportedPropertyError = 'pty?',
  /// The size does not match the property's value.
  kAudioServicesBadPropertySizeError = '!siz',
  /// The specifier of a property is not a SystemSoundID.
  kAudioServicesBadSpecifierSizeError = '!spc',
  /// The file cannot be read, or the sound does not exist; the log has details.
  kAudioServicesSystemSoundUnspecifiedError = -1500,
  /// The sound could not be started in time.
  kAudioServicesSystemSoundClientTimedOutError = -1501,
  /// The file is longer than 30 seconds.
  kAudioServicesSystemSoundExceededMaximumDurationError = -1502
};

/// Properties of a SystemSoundID. Both can be read and set.
CF_ENUM(AudioServicesPropertyID) {
  /// UInt32: 1 for a user interface sound, which a system setting may silence. Default 1. No
  /// setting silences sounds here.
  kAudioServicesPropertyIsUISound = 0x69737569, // 'isui'
  /// UInt32: 1 to delay the program's exit until the sound has finished. A program that is killed
  /// does not wait.
  kAudioServicesPropertyCompletePlaybackIfAppDies = 0x69666469 // 'ifdi'
};

/// Creates a sound from a file of at most 30 seconds, which is read at once. Any thread.
extern OSStatus AudioServicesCreateSystemSoundID(CFURLRef inFileURL,
                                                 SystemSoundID *outSystemSoundID);

/// Disposes of a sound, even while it plays. Any thread.
extern OSStatus AudioServicesDisposeSystemSoundID(SystemSoundID inSystemSoundID);

/// Plays a sound and calls the block when it has finished or cannot be played. Returns at once;
/// sounds may overlap. Any thread; a thread of the library runs the block.
extern void AudioServicesPlaySystemSoundWithCompletion(SystemSoundID inSystemSoundID,
                                                       void (^_Nullable inCompletionBlock)(void));

/// Does the same as AudioServicesPlaySystemSoundWithCompletion: an alert is only a sound here.
extern void AudioServicesPlayAlertSoundWithCompletion(SystemSoundID inSystemSoundID,
                                                      void (^_Nullable inCompletionBlock)(void));

/// Plays a sound. Returns at once; sounds may overlap. Any thread.
extern void AudioServicesPlaySystemSound(SystemSoundID inSystemSoundID);

/// Does the same as AudioServicesPlaySystemSound: an alert is only a sound here.
extern void AudioServicesPlayAlertSound(SystemSoundID inSystemSoundID);

/// Sets a function to call each time the sound has finished. It runs on a run loop (NULL: the main
/// thread's) in a mode (NULL: the default one), and replaces a function set before. Any thread.
extern OSStatus AudioServicesAddSystemSoundCompletion(
    SystemSoundID inSystemSoundID, CFRunLoopRef _Nullable inRunLoop,
    CFStringRef _Nullable inRunLoopMode,
    AudioServicesSystemSoundCompletionProc inCompletionRoutine, void *_Nullable inClientData);

/// Removes the function that is called when the sound has finished. Any thread.
extern void AudioServicesRemoveSystemSoundCompletion(SystemSoundID inSystemSoundID);

/// Returns the size of a property's value in bytes, and whether it can be set. Any thread.
extern OSStatus AudioServicesGetPropertyInfo(AudioServicesPropertyID inPropertyID,
                                             UInt32 inSpecifierSize,
                                             const void *_Nullable inSpecifier,
                                             UInt32 *_Nullable outPropertyDataSize,
                                             Boolean *_Nullable outWritable);

/// Copies a property's value. Any thread.
extern OSStatus AudioServicesGetProperty(AudioServicesPropertyID inPropertyID,
                                         UInt32 inSpecifierSize, const void *_Nullable inSpecifier,
                                         UInt32 *ioPropertyDataSize,
                                         void *_Nullable outPropertyData);

/// Sets a property. Any thread.
extern OSStatus AudioServicesSetProperty(AudioServicesPropertyID inPropertyID,
                                         UInt32 inSpecifierSize, const void *_Nullable inSpecifier,
                                         UInt32 inPropertyDataSize, const void *inPropertyData);

CF_EXTERN_C_END
CUE_HEADER_END

#include "AudioHardwareService.h"
#include "AudioSession.h"

#endif
