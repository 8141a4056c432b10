// The part of Core Services that sound programs use: Core Foundation, the classic types and result
// codes, and byte order.
#ifndef CUEJACK_CORESERVICES_H
#define CUEJACK_CORESERVICES_H
#include "../CarbonCore/Endian.h"
#include "../CarbonCore/MacErrors.h"
#include "../MacTypes.h"
#include "../libkern/OSAtomic.h"
#include "../libkern/OSByteOrder.h"
#include "../mach/mach_time.h"
#endif
