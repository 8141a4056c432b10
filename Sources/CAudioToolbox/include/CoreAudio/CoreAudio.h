// Core Audio's umbrella: its data types.
#ifndef CUEJACK_COREAUDIO_H
#define CUEJACK_COREAUDIO_H
#include "CoreAudioTypes.h"
#include "HostTime.h"
#endif
