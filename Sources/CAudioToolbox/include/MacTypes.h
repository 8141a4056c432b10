// The classic scalar types and noErr, for programs that include this header.
#ifndef CUEJACK_MACTYPES_H
#define CUEJACK_MACTYPES_H
#include "CuejackBase.h"
#endif
