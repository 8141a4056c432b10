// The header of music devices, by its other path.
#ifndef CUEJACK_AUDIOTOOLBOX_MUSICDEVICE_H
#define CUEJACK_AUDIOTOOLBOX_MUSICDEVICE_H
#include "../AudioUnit/MusicDevice.h"
#endif
