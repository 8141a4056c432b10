// The header of audio units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUDIOUNIT_H
#define CUEJACK_AUDIOTOOLBOX_AUDIOUNIT_H
#include "../AudioUnit/AudioUnit.h"
#endif
