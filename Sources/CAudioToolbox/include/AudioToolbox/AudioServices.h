// System sounds: short files that are played without more ado.
#ifndef CUEJACK_AUDIOSERVICES_H
#define CUEJACK_AUDIOSERVICES_H

#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A system sound: what AudioServicesCreateSystemSoundID made of a file, or one of the constants.
typedef UInt32 SystemSoundID;
typedef UInt32 AudioServicesPropertyID;

/// Called each time a sound has come to its end.
typedef void (*AudioServicesSystemSoundCompletionProc)(SystemSoundID ssID,
                                                       void *_Nullable clientData);

enum {
  /// The flash of the screen and the vibration of phones. Nothing here does either: to play them is
  /// over at once, and makes no sound. They have completions and properties like all sounds.
  kSystemSoundID_FlashScreen = 0x00000FFE,
  kSystemSoundID_Vibrate = 0x00000FFF,
  /// A tone that is always there.
  kSystemSoundID_UserPreferredAlert = 0x00001000,
  kUserPreferredAlert = kSystemSoundID_UserPreferredAlert
};

CF_ENUM(OSStatus) {
  kAudioServicesNoError = 0,
  /// There is no such property.
  kAudioServicesUnsupportedPropertyError = 'pty?',
  /// The size given is not that of the property's value.
  kAudioServicesBadPropertySizeError = '!siz',
  /// What a property is of was not given as a SystemSoundID.
  kAudioServicesBadSpecifierSizeError = '!spc',
  /// The file cannot be read, or there is no such sound; the log says what.
  kAudioServicesSystemSoundUnspecifiedError = -1500,
  /// The sound could not be started in time.
  kAudioServicesSystemSoundClientTimedOutError = -1501,
  /// The file is longer than 30 seconds.
  kAudioServicesSystemSoundExceededMaximumDurationError = -1502
};

/// Both are of a SystemSoundID, and can be read and set.
CF_ENUM(AudioServicesPropertyID) {
  /// UInt32: 1, as it is at first, for a sound of the user interface, which the user may have silenced
  /// on systems that have such a setting. No setting silences sounds here.
  kAudioServicesPropertyIsUISound = 0x69737569, // 'isui'
  /// UInt32: 1 to have the program's end wait for the sound's. A program that is killed does not wait.
  kAudioServicesPropertyCompletePlaybackIfAppDies = 0x69666469 // 'ifdi'
};

/// Makes a sound of a file of at most 30 seconds, which is read at once. Any thread.
extern OSStatus AudioServicesCreateSystemSoundID(CFURLRef inFileURL,
                                                 SystemSoundID *outSystemSoundID);

/// Ends a sound, even while it plays. Any thread.
extern OSStatus AudioServicesDisposeSystemSoundID(SystemSoundID inSystemSoundID);

/// Plays a sound and calls the block when it is over, or cannot be played. Returns at once; sounds may
/// overlap. Any thread; the block is called on one of the library's.
extern void AudioServicesPlaySystemSoundWithCompletion(SystemSoundID inSystemSoundID,
                                                       void (^_Nullable inCompletionBlock)(void));

/// The same: nothing but the sound alerts the user here.
extern void AudioServicesPlayAlertSoundWithCompletion(SystemSoundID inSystemSoundID,
                                                      void (^_Nullable inCompletionBlock)(void));

/// Plays a sound. Returns at once; sounds may overlap. Any thread.
extern void AudioServicesPlaySystemSound(SystemSoundID inSystemSoundID);

/// The same: nothing but the sound alerts the user here.
extern void AudioServicesPlayAlertSound(SystemSoundID inSystemSoundID);

/// Has a function called each time the sound has been played, on a run loop (NULL for the main
/// thread's) in a mode (NULL for the default one). It takes the place of one that was added before.
/// Any thread.
extern OSStatus AudioServicesAddSystemSoundCompletion(
    SystemSoundID inSystemSoundID, CFRunLoopRef _Nullable inRunLoop,
    CFStringRef _Nullable inRunLoopMode,
    AudioServicesSystemSoundCompletionProc inCompletionRoutine, void *_Nullable inClientData);

/// Has the sound's function called no more. Any thread.
extern void AudioServicesRemoveSystemSoundCompletion(SystemSoundID inSystemSoundID);

/// Tells the size of a property's value in bytes, and whether it can be set. Any thread.
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

#endif
