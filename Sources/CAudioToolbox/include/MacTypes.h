// The classic scalar types and noErr, for programs that ask for them by this name.
#ifndef CUEJACK_MACTYPES_H
#define CUEJACK_MACTYPES_H
#include "CuejackBase.h"
#endif
