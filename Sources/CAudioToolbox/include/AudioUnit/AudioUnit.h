// Umbrella header of audio units.
#ifndef CUEJACK_AUDIOUNIT_H
#define CUEJACK_AUDIOUNIT_H
#include "AUComponent.h"
#include "AudioComponent.h"
#include "AudioOutputUnit.h"
#include "AudioUnitParameters.h"
#include "AudioUnitProperties.h"
#include "MusicDevice.h"
#endif
