// Availability macros in their later spelling. They expand to nothing.
#ifndef __OS_AVAILABILITY__
#define __OS_AVAILABILITY__

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
#ifndef API_AVAILABLE_BEGIN
#define API_AVAILABLE_BEGIN(...)
#define API_AVAILABLE_END
#endif
#ifndef API_DEPRECATED_BEGIN
#define API_DEPRECATED_BEGIN(...)
#define API_DEPRECATED_END
#endif
#ifndef API_UNAVAILABLE_BEGIN
#define API_UNAVAILABLE_BEGIN(...)
#define API_UNAVAILABLE_END
#endif

#endif
