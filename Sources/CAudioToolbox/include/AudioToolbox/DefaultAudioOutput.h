// The header of output units, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_DEFAULTAUDIOOUTPUT_H
#define CUEJACK_AUDIOTOOLBOX_DEFAULTAUDIOOUTPUT_H
#include "../AudioUnit/AudioUnit.h"
#endif
