// Availability macros for ported programs. They expand to nothing, because this library has only
// one version.
#ifndef __AVAILABILITY__
#define __AVAILABILITY__

#include "AvailabilityMacros.h"
#include "os/availability.h"

#ifndef __MAC_OS_X_VERSION_MIN_REQUIRED
#define __MAC_OS_X_VERSION_MIN_REQUIRED MAC_OS_X_VERSION_MIN_REQUIRED
#endif
#ifndef __MAC_OS_X_VERSION_MAX_ALLOWED
#define __MAC_OS_X_VERSION_MAX_ALLOWED MAC_OS_X_VERSION_MAX_ALLOWED
#endif

#define __OSX_AVAILABLE_STARTING(_osx, _ios)
#define __OSX_AVAILABLE_BUT_DEPRECATED(_osxIn, _osxOut, _iosIn, _iosOut)
#define __OSX_AVAILABLE_BUT_DEPRECATED_MSG(_osxIn, _osxOut, _iosIn, _iosOut, _message)
#define __OSX_AVAILABLE(_version)
#define __OSX_DEPRECATED(_start, _end, _message)
#define __OSX_UNAVAILABLE
#define __OSX_EXTENSION_UNAVAILABLE(_message)
#define __IOS_AVAILABLE(_version)
#define __IOS_DEPRECATED(_start, _end, _message)
#define __IOS_UNAVAILABLE
#define __IOS_PROHIBITED
#define __TVOS_AVAILABLE(_version)
#define __TVOS_UNAVAILABLE
#define __TVOS_PROHIBITED
#define __WATCHOS_AVAILABLE(_version)
#define __WATCHOS_UNAVAILABLE
#define __WATCHOS_PROHIBITED

#endif
