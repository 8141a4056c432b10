// The header of the properties of audio units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUDIOUNITPROPERTIES_H
#define CUEJACK_AUDIOTOOLBOX_AUDIOUNITPROPERTIES_H
#include "../AudioUnit/AudioUnitProperties.h"
#endif
