// Listeners that hear of changes of units' parameters, and of their properties: for the parts of a program
// that show or store them.
//
// A parameter's listeners hear of it if it is set by AUParameterSet, or if a program tells of it by
// AUParameterListenerNotify or AUEventListenerNotify; AudioUnitSetParameter tells nobody. Any thread that
// is not real time may call these functions.
#ifndef CUEJACK_AUDIOUNITUTILITIES_H
#define CUEJACK_AUDIOUNITUTILITIES_H

#include "../AudioUnit/AudioUnitProperties.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A listener. The pointer is a number that is never followed.
typedef struct AUListenerBase *AUParameterListenerRef;
typedef struct AUListenerBase *AUEventListenerRef;

/// As a parameter's number: all parameters of the unit.
enum {
  kAUParameterListener_AnyParameter = 0xFFFFFFFF
};

/// A parameter of a unit.
struct AudioUnitParameter {
  AudioUnit _Nullable mAudioUnit;
  AudioUnitParameterID mParameterID;
  AudioUnitScope mScope;
  AudioUnitElement mElement;
};
typedef struct AudioUnitParameter AudioUnitParameter;

/// A property of a unit.
struct AudioUnitProperty {
  AudioUnit _Nullable mAudioUnit;
  AudioUnitPropertyID mPropertyID;
  AudioUnitScope mScope;
  AudioUnitElement mElement;
};
typedef struct AudioUnitProperty AudioUnitProperty;

typedef CF_ENUM(UInt32, AudioUnitEventType){
    kAudioUnitEvent_ParameterValueChange = 0,
    /// Told by AUEventListenerNotify only: a user begins to move a control, and has let it go.
    kAudioUnitEvent_BeginParameterChangeGesture = 1, kAudioUnitEvent_EndParameterChangeGesture = 2,
    kAudioUnitEvent_PropertyChange = 3};

struct AudioUnitEvent {
  AudioUnitEventType mEventType;
  union {
    AudioUnitParameter mParameter;
    AudioUnitProperty mProperty;
  } mArgument;
};
typedef struct AudioUnitEvent AudioUnitEvent;

/// Called after a change of a parameter, with its value.
typedef void (*AUParameterListenerProc)(void *_Nullable inUserData, void *_Nullable inObject,
                                        const AudioUnitParameter *inParameter,
                                        AudioUnitParameterValue inValue);

/// Called after an event; the value is that of a parameter. inEventHostTime is when it happened.
typedef void (*AUEventListenerProc)(void *_Nullable inUserData, void *_Nullable inObject,
                                    const AudioUnitEvent *inEvent, UInt64 inEventHostTime,
                                    AudioUnitParameterValue inParameterValue);

/// Makes a listener of parameters.
///
/// - inRunLoop: where it is called, in the mode inRunLoopMode (NULL: the common modes); NULL for a thread
///   of the library.
/// - inNotificationInterval: seconds. Changes of one parameter within this time are told once, with the
///   last value.
extern OSStatus AUListenerCreate(AUParameterListenerProc inProc, void *_Nullable inUserData,
                                 CFRunLoopRef _Nullable inRunLoop,
                                 CFStringRef _Nullable inRunLoopMode,
                                 Float32 inNotificationInterval,
                                 AUParameterListenerRef _Nullable *_Nonnull outListener);

/// Ends a listener of either kind. When this returns, it is not called, unless it is the caller.
extern OSStatus AUListenerDispose(AUParameterListenerRef _Nullable inListener);

/// Lets a listener hear of a parameter. inObject comes back with the calls.
extern OSStatus AUListenerAddParameter(AUParameterListenerRef inListener, void *_Nullable inObject,
                                       const AudioUnitParameter *inParameter);

/// Lets it hear of the parameter no more, for that object.
extern OSStatus AUListenerRemoveParameter(AUParameterListenerRef inListener,
                                          void *_Nullable inObject,
                                          const AudioUnitParameter *inParameter);

/// Sets a parameter, and tells all listeners of it, except inSendingListener with inSendingObject.
extern OSStatus AUParameterSet(AUParameterListenerRef _Nullable inSendingListener,
                               void *_Nullable inSendingObject,
                               const AudioUnitParameter *inParameter,
                               AudioUnitParameterValue inValue, UInt32 inBufferOffsetInFrames);

/// Tells all listeners of a parameter, except inSendingListener with inSendingObject, that it has changed.
///
/// - inParameter: kAUParameterListener_AnyParameter tells of all parameters of the unit.
extern OSStatus AUParameterListenerNotify(AUParameterListenerRef _Nullable inSendingListener,
                                          void *_Nullable inSendingObject,
                                          const AudioUnitParameter *inParameter);

/// Makes a listener of events.
///
/// - inNotificationInterval: as above, in seconds.
/// - inValueChangeGranularity: seconds between two changes of one parameter that are told one by one; nearer
///   ones are told as one.
extern OSStatus AUEventListenerCreate(AUEventListenerProc inProc, void *_Nullable inUserData,
                                      CFRunLoopRef _Nullable inRunLoop,
                                      CFStringRef _Nullable inRunLoopMode,
                                      Float32 inNotificationInterval,
                                      Float32 inValueChangeGranularity,
                                      AUEventListenerRef _Nullable *_Nonnull outListener);

/// Lets a listener hear of a kind of event of a parameter or property.
extern OSStatus AUEventListenerAddEventType(AUEventListenerRef inListener, void *_Nullable inObject,
                                            const AudioUnitEvent *inEvent);

/// Lets it hear of that no more, for that object.
extern OSStatus AUEventListenerRemoveEventType(AUEventListenerRef inListener,
                                               void *_Nullable inObject,
                                               const AudioUnitEvent *inEvent);

/// Tells all listeners of an event, except inSendingListener with inSendingObject.
extern OSStatus AUEventListenerNotify(AUEventListenerRef _Nullable inSendingListener,
                                      void *_Nullable inSendingObject,
                                      const AudioUnitEvent *inEvent);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
