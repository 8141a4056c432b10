// The data types of Core Audio.
#ifndef CUEJACK_COREAUDIOTYPES_H
#define CUEJACK_COREAUDIOTYPES_H
#include "CoreAudioBaseTypes.h"
#endif
