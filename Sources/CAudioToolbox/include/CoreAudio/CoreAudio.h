// Umbrella header of Core Audio: its data types, hardware and host time.
#ifndef CUEJACK_COREAUDIO_H
#define CUEJACK_COREAUDIO_H
#include "AudioHardware.h"
#include "CoreAudioTypes.h"
#include "HostTime.h"
#endif
