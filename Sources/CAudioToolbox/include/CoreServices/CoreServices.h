// The part of Core Services that sound programs use: Core Foundation, the classic types and result
// codes, assertions, references to files, and byte order.
#ifndef CUEJACK_CORESERVICES_H
#define CUEJACK_CORESERVICES_H
#include "../AssertMacros.h"
#include "../CarbonCore/Debugging.h"
#include "../CarbonCore/Endian.h"
#include "../CarbonCore/Files.h"
#include "../CarbonCore/FixMath.h"
#include "../CarbonCore/MacErrors.h"
#include "../ConditionalMacros.h"
#include "../MacTypes.h"
#include "../libkern/OSAtomic.h"
#include "../libkern/OSByteOrder.h"
#include "../mach/mach_time.h"
#endif
