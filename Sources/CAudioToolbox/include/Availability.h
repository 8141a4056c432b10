// Availability macros for ported programs. They expand to nothing, because this library has only
// one version.
#ifndef __AVAILABILITY__
#define __AVAILABILITY__

#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#ifndef API_UNAVAILABLE
#define API_UNAVAILABLE(...)
#endif
#ifndef API_DEPRECATED_WITH_REPLACEMENT
#define API_DEPRECATED_WITH_REPLACEMENT(...)
#endif

#define __OSX_AVAILABLE_STARTING(_osx, _ios)
#define __OSX_AVAILABLE_BUT_DEPRECATED(_osxIn, _osxOut, _iosIn, _iosOut)
#define __OSX_AVAILABLE_BUT_DEPRECATED_MSG(_osxIn, _osxOut, _iosIn, _iosOut, _message)
#define __OSX_AVAILABLE(_version)
#define __IOS_AVAILABLE(_version)

#include "AvailabilityMacros.h"

#define __MAC_OS_X_VERSION_MIN_REQUIRED MAC_OS_X_VERSION_MIN_REQUIRED
#define __MAC_OS_X_VERSION_MAX_ALLOWED  MAC_OS_X_VERSION_MAX_ALLOWED

#endif
