// The header of audio components, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUDIOCOMPONENT_H
#define CUEJACK_AUDIOTOOLBOX_AUDIOCOMPONENT_H
#include "../AudioUnit/AudioComponent.h"
#endif
