// The header of audio units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUCOMPONENT_H
#define CUEJACK_AUDIOTOOLBOX_AUCOMPONENT_H
#include "../AudioUnit/AUComponent.h"
#endif
