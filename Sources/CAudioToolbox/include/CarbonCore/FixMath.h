// Fixed-point numbers with 16 fraction bits.
#ifndef CUEJACK_FIXMATH_H
#define CUEJACK_FIXMATH_H

#include "../CuejackBase.h"

/// One as a fixed-point number.
#define fixed1 ((Fixed)0x00010000L)

/// The number as a float; the float as a number, without the bits that it has no room for.
#define FixedToFloat(a) ((float)(a) / fixed1)
#define FloatToFixed(a) ((Fixed)((float)(a)*fixed1))
/// The integer part, rounded down; an integer as a number.
#define FixedToInt(a) ((short)((Fixed)(a) >> 16))
#define IntToFixed(a) ((Fixed)((UInt32)(a) << 16))

/// The number as a double, and back.
#define Fix2X(a) ((double)(Fixed)(a) / fixed1)
#define X2Fix(a) ((Fixed)((double)(a)*fixed1))

#endif
