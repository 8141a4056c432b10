// The header of output units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_AUDIOOUTPUTUNIT_H
#define CUEJACK_AUDIOTOOLBOX_AUDIOOUTPUTUNIT_H
#include "../AudioUnit/AudioOutputUnit.h"
#endif
