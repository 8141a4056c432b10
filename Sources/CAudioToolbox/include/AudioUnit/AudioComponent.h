// Audio components: what kinds of audio units there are, and instances of them.
//
// Any thread that is not real time may call these functions.
#ifndef CUEJACK_AUDIOCOMPONENT_H
#define CUEJACK_AUDIOCOMPONENT_H

#include "../CarbonCore/MacErrors.h"
#include "../CoreAudioTypes/CoreAudioTypes.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

// MARK: Components

/// A kind of audio unit. The pointer is a number that is never followed.
typedef struct OpaqueAudioComponent *AudioComponent;

/// An instance of a component: an audio unit.
typedef struct OpaqueAudioComponentInstance *AudioComponentInstance;

/// The codes that identify a component. In a search 0 stands for any type, subtype or manufacturer.
struct AudioComponentDescription {
  OSType componentType;
  OSType componentSubType;
  OSType componentManufacturer;
  /// A search ignores the flags and their mask. Components of this library have none.
  UInt32 componentFlags;
  UInt32 componentFlagsMask;
};
typedef struct AudioComponentDescription AudioComponentDescription;

/// Values of componentFlags. Components of this library have none of them.
typedef CF_OPTIONS(UInt32, AudioComponentFlags) {
  kAudioComponentFlag_Unsearchable = 1,
  kAudioComponentFlag_SandboxSafe = 2,
  kAudioComponentFlag_IsV3AudioUnit = 4,
  kAudioComponentFlag_RequiresAsyncInstantiation = 8,
  kAudioComponentFlag_CanLoadInProcess = 0x10
};

/// How Apple's systems load a component. Here the component decides.
typedef CF_OPTIONS(UInt32, AudioComponentInstantiationOptions) {
  kAudioComponentInstantiation_LoadOutOfProcess = 1,
  kAudioComponentInstantiation_LoadInProcess = 2,
  kAudioComponentInstantiation_LoadedRemotely = 1u << 31
};

/// Returns the next component that a description means, after `inComponent` (NULL: the first one);
/// NULL if there are no more.
extern AudioComponent _Nullable AudioComponentFindNext(AudioComponent _Nullable inComponent,
                                                       const AudioComponentDescription *inDesc);

/// Returns how many components a description means.
extern UInt32 AudioComponentCount(const AudioComponentDescription *inDesc);

/// Copies a component's name, "manufacturer: name". The caller releases it.
extern OSStatus AudioComponentCopyName(AudioComponent inComponent,
                                       CFStringRef _Nullable *_Nonnull outName);

/// Stores a component's description.
extern OSStatus AudioComponentGetDescription(AudioComponent inComponent,
                                             AudioComponentDescription *outDesc);

/// Stores a component's version, 0xMMMMmmDD: major, minor, dot.
extern OSStatus AudioComponentGetVersion(AudioComponent inComponent, UInt32 *outVersion);

/// Makes an audio unit. The voice-processing unit is refused with
/// kAudioComponentErr_UnsupportedType: there is no echo cancellation here.
extern OSStatus AudioComponentInstanceNew(AudioComponent inComponent,
                                          AudioComponentInstance _Nullable *_Nonnull outInstance);

/// Stops an audio unit and frees it. When this returns, none of the app's functions is called for
/// it, unless one of them is the caller. NULL is no error.
extern OSStatus AudioComponentInstanceDispose(AudioComponentInstance _Nullable inInstance);

/// Returns the component of an audio unit; NULL if there is no such unit.
extern AudioComponent _Null_unspecified
AudioComponentInstanceGetComponent(AudioComponentInstance inInstance);

// MARK: Components of the app

/// A function of a unit, with the parameters of the function of AUComponent.h or MusicDevice.h that it
/// stands for, the first one being the AudioComponentPlugInInterface.
typedef OSStatus (*AudioComponentMethod)(void *self, ...);

/// An instance of a unit of the app: the first bytes of a structure of its own.
struct AudioComponentPlugInInterface {
  /// Called once with the number that the instance has got.
  OSStatus (*Open)(void *self, AudioComponentInstance mInstance);
  /// Called when it is disposed of: frees the structure.
  OSStatus (*Close)(void *self);
  /// Returns the function for a selector, kAudioUnit…Select; NULL if the unit does not have it.
  AudioComponentMethod _Nullable (*_Nonnull Lookup)(SInt16 selector);
  void *_Nullable reserved;
};
typedef struct AudioComponentPlugInInterface AudioComponentPlugInInterface;

/// Makes an instance; NULL if it cannot.
typedef AudioComponentPlugInInterface *_Nullable (*AudioComponentFactoryFunction)(
    const AudioComponentDescription *inDesc);

/// Adds a component of the app, as long as the process runs. Its units work wherever others do: behind and
/// before them, in graphs, on threads that render.
///
/// - inName: "manufacturer: name".
/// - Returns: NULL if an argument is NULL, or a code of the description is 0.
extern AudioComponent _Nullable
AudioComponentRegister(const AudioComponentDescription *inDesc, CFStringRef inName,
                       UInt32 inVersion, AudioComponentFactoryFunction inFactory);

CF_ENUM(OSStatus) {
  kAudioComponentErr_InstanceTimedOut = -66754,
  kAudioComponentErr_InstanceInvalidated = -66749,
  kAudioComponentErr_NotPermitted = -66748,
  kAudioComponentErr_InitializationTimedOut = -66747,
  kAudioComponentErr_InvalidFormat = -66746,
  kAudioComponentErr_DuplicateDescription = -66752,
  kAudioComponentErr_UnsupportedType = -66751,
  kAudioComponentErr_TooManyInstances = -66750
};

// MARK: Before 10.6

typedef AudioComponentDescription ComponentDescription;
typedef AudioComponent Component;
typedef AudioComponentInstance ComponentInstance;
typedef SInt32 ComponentResult;

/// Returns the next component, as AudioComponentFindNext does.
extern Component _Nullable FindNextComponent(Component _Nullable aComponent,
                                             ComponentDescription *looking);
/// Returns how many components a description means.
extern long CountComponents(ComponentDescription *looking);
/// Makes an audio unit; NULL if that fails.
extern ComponentInstance _Nullable OpenComponent(Component aComponent);
/// Makes an audio unit.
extern OSErr OpenAComponent(Component aComponent, ComponentInstance _Nullable *_Nonnull ci);
/// Stops an audio unit and frees it.
extern OSErr CloseComponent(ComponentInstance _Nullable aComponentInstance);
/// Stores a component's description. `componentName`, `componentInfo` and `componentIcon` are left
/// alone.
extern OSErr GetComponentInfo(Component aComponent, ComponentDescription *_Nullable cd,
                              Handle _Nullable componentName, Handle _Nullable componentInfo,
                              Handle _Nullable componentIcon);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
