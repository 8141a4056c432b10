// The header of the parameters of audio units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUDIOUNITPARAMETERS_H
#define CUEJACK_AUDIOTOOLBOX_AUDIOUNITPARAMETERS_H
#include "../AudioUnit/AudioUnitParameters.h"
#endif
