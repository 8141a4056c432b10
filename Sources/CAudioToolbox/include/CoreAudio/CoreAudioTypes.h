// The data types of Core Audio, where older programs look for them.
#ifndef CUEJACK_COREAUDIO_COREAUDIOTYPES_H
#define CUEJACK_COREAUDIO_COREAUDIOTYPES_H
#include "../CoreAudioTypes/CoreAudioTypes.h"
#endif
