// Assertions, and names of result codes.
#ifndef CUEJACK_DEBUGGING_H
#define CUEJACK_DEBUGGING_H

#include "../AssertMacros.h"
#include "MacErrors.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Returns the name of the constant of a result code, such as "paramErr", or an empty string if the
/// code is unknown. The string lives as long as the process. Any thread.
extern const char *GetMacOSStatusErrorString(OSStatus err);

/// Returns what a result code means, or an empty string if the code is unknown. The string lives as
/// long as the process. Any thread.
extern const char *GetMacOSStatusCommentString(OSStatus err);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
