// Umbrella header of Core Audio: its data types and host time.
#ifndef CUEJACK_COREAUDIO_H
#define CUEJACK_COREAUDIO_H
#include "CoreAudioTypes.h"
#include "HostTime.h"
#endif
