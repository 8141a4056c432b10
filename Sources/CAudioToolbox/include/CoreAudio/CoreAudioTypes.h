// The data types of Core Audio, at the path that older programs include.
#ifndef CUEJACK_COREAUDIO_COREAUDIOTYPES_H
#define CUEJACK_COREAUDIO_COREAUDIOTYPES_H
#include "../CoreAudioTypes/CoreAudioTypes.h"
#endif
